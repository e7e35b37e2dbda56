#include "census/filter.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "routes/address_set.h"

namespace ebb::census {
namespace {

constexpr std::string_view keys = "state, verdict, process, pid, netns, local, peer, port";

// Ignores case and the separators of words: "half-open", "close_wait".
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  }
  return out;
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The numbers of all names with this prefix; "established" means ESTAB.
template <class Names>
std::vector<bool> begin_with(const Names& names, std::string_view text) {
  const std::string wanted = plain(text);
  std::vector<bool> found;
  for (const std::string_view each : names) {
    found.push_back(!wanted.empty() &&
                    (plain(each).starts_with(wanted) || (plain(each) == "estab" && wanted == "established")));
  }
  return found;
}

std::string list_of(const auto& names) {
  std::string out;
  for (const std::string_view each : names) out += (out.empty() ? "" : ", ") + std::string(each);
  return out;
}

using Ends = std::function<bool(const base::Address&)>;

std::expected<Ends, std::string> parse_end(std::string_view text) {
  if (const auto range = routes::Cidr::parse(text)) {
    return [set = routes::AddressSet(std::span(&*range, 1))](const base::Address& one) { return set.contains(one); };
  }
  if (const auto address = base::Address::parse(text)) {
    return [wanted = *address](const base::Address& one) { return one == wanted; };
  }
  return std::unexpected("\"" + std::string(text) + "\" is no address: give 10.1.0.5, 10.1.0.5:8080 or 10.1.0.0/16");
}

}  // namespace

std::expected<Filter::Test, std::string> Filter::parse_word(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos) {
    return [text = std::string(word)](const Census& census, const Socket& socket, const Classification&) {
      const Process* const process = census.sample.process_of(socket);
      return (process != nullptr && process->name.contains(text)) || socket.local.text().contains(text) ||
             socket.peer.text().contains(text) || (socket.real_peer.valid() && socket.real_peer.text().contains(text));
    };
  }
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = word.substr(equals + 1);
  if (key == "state" || key == "verdict") {
    const bool state = key == "state";
    auto wanted = state ? begin_with(state_names, value) : begin_with(socket_class_names, value);
    if (std::ranges::none_of(wanted, std::identity{})) {
      return std::unexpected(
          "there is no " + std::string(key) + " \"" + std::string(value) + "\"; there is " +
          (state ? list_of(std::span(state_names).subspan(1, state_names.size() - 2)) : list_of(socket_class_names)));
    }
    return
        [state, wanted = std::move(wanted)](const Census&, const Socket& socket, const Classification& classification) {
          return wanted[state ? static_cast<std::size_t>(socket.state)
                              : static_cast<std::size_t>(classification.socket_class())];
        };
  }
  if (key == "process") {
    return [text = std::string(value)](const Census& census, const Socket& socket, const Classification&) {
      const Process* const process = census.sample.process_of(socket);
      return process != nullptr && process->name.contains(text);
    };
  }
  if (key == "netns") {
    return [text = std::string(value)](const Census& census, const Socket& socket, const Classification&) {
      return census.sample.spaces[socket.space].name == text;
    };
  }
  if (key == "local" || key == "peer") {
    const auto ends = parse_end(value);
    if (!ends) return std::unexpected(ends.error());
    return [local = key == "local", holds = *ends](const Census&, const Socket& socket, const Classification&) {
      if (local) return holds(socket.local);
      return holds(socket.peer) || (socket.real_peer.valid() && holds(socket.real_peer));
    };
  }
  if (key == "pid" || key == "port") {
    const auto wanted = number(value);
    if (!wanted) return std::unexpected("\"" + std::string(value) + "\" is no number");
    return [pid = key == "pid", wanted = *wanted](const Census& census, const Socket& socket, const Classification&) {
      const Process* const process = census.sample.process_of(socket);
      if (pid) return process != nullptr && process->pid == wanted;
      return socket.local.port() == wanted || socket.peer.port() == wanted ||
             (socket.real_peer.valid() && socket.real_peer.port() == wanted);
    };
  }
  return std::unexpected("there is no filter \"" + std::string(key) + "\"; there is " + std::string(keys));
}

std::expected<Filter, std::string> Filter::parse(std::span<const std::string> words) {
  Filter filter;
  for (std::string_view word : words) {
    const bool inverse = word.starts_with('!');
    if (inverse) word.remove_prefix(1);
    auto test = parse_word(word);
    if (!test) return std::unexpected(test.error());
    if (inverse) {
      filter.tests_.push_back([test = std::move(*test)](const auto&... facts) { return !test(facts...); });
    } else {
      filter.tests_.push_back(std::move(*test));
    }
  }
  return filter;
}

bool Filter::admits(const Census& census, std::size_t index) const {
  return std::ranges::all_of(tests_, [&](const Test& test) {
    return test(census, census.sample.sockets[index], census.classifications[index]);
  });
}

std::vector<std::uint32_t> Filter::select(const Census& census) const {
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0; i < census.size(); ++i) {
    if (admits(census, i)) shown.push_back(i);
  }
  return shown;
}

}  // namespace ebb::census
