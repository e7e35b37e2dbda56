#include "census/recording.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/result.h"
#include "census/fields.h"
#include "census/json.h"
#include "wire/json_reader.h"

namespace ebb::census {
namespace {

using wire::JsonValue;
using Read = std::expected<void, std::string>;

std::expected<std::uint64_t, std::string> number_of(const JsonValue* value, const char* field, std::uint64_t max) {
  std::uint64_t number = 0;
  if (value != nullptr && value->kind == JsonValue::Kind::number) {
    const std::string& digits = value->text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error == std::errc{} && end == digits.data() + digits.size() && number <= max) return number;
  }
  return std::unexpected(std::string("\"") + field + "\" is missing or no such number");
}

// For the visitors of fields.h; keeps the first error.
struct NumberReader {
  const JsonValue& from;
  Read result;

  void operator()(const char* field, bool& into) {
    const JsonValue* const value = from.find(field);
    if (value == nullptr || value->kind != JsonValue::Kind::boolean) {
      if (result) result = std::unexpected(std::string("\"") + field + "\" is missing or not true or false");
      return;
    }
    into = value->truth;
  }
  template <class Number>
  void operator()(const char* field, Number& into) {
    const auto number = number_of(from.find(field), field, std::numeric_limits<Number>::max());
    if (number) {
      into = static_cast<Number>(*number);
    } else if (result) {
      result = std::unexpected(number.error());
    }
  }
};

std::expected<std::string, std::string> text_of(const JsonValue& from, const char* field) {
  const JsonValue* const value = from.find(field);
  if (value == nullptr || !value->is_text())
    return std::unexpected(std::string("\"") + field + "\" is missing or no text");
  return value->text;
}

std::expected<base::Address, std::string> address_of(const JsonValue& from, const char* field) {
  const std::string text = EBB_TRY(text_of(from, field));
  const auto address = base::Address::parse(text);
  if (!address) return std::unexpected(std::string("\"") + field + "\" is no address");
  return *address;
}

template <class Enum, std::size_t size>
std::expected<Enum, std::string> one_of(const JsonValue& from, const char* field,
                                        const std::array<std::string_view, size>& names) {
  const std::string text = EBB_TRY(text_of(from, field));
  const auto found = std::ranges::find(names, text);
  if (found == names.end()) return std::unexpected(std::string("\"") + field + "\" has no value \"" + text + "\"");
  return static_cast<Enum>(found - names.begin());
}

std::expected<Socket, std::string> socket_of(const JsonValue& from, const Sample& sample) {
  Socket socket;
  socket.state = EBB_TRY((one_of<State>(from, "state", state_names)));
  socket.timer = EBB_TRY((one_of<Timer>(from, "timer", timer_names)));
  socket.local = EBB_TRY(address_of(from, "local"));
  socket.peer = EBB_TRY(address_of(from, "peer"));
  if (from.find("real_peer") != nullptr) socket.real_peer = EBB_TRY(address_of(from, "real_peer"));
  NumberReader numbers{from, {}};
  each_number(socket, numbers);
  if (!numbers.result) return std::unexpected(numbers.result.error());
  if (const JsonValue* const info = from.find("info")) {
    NumberReader reader{*info, {}};
    each_info_number(socket, reader);
    if (!reader.result) return std::unexpected(reader.result.error());
    socket.has_info = true;
  }
  if (const JsonValue* const options = from.find("options")) {
    NumberReader reader{*options, {}};
    each_option(socket.options, reader);
    if (!reader.result) return std::unexpected(reader.result.error());
    socket.options.known = true;
  }
  if (sample.spaces.empty()) return std::unexpected(std::string("a socket before its namespace"));
  socket.space = static_cast<std::uint32_t>(EBB_TRY(number_of(from.find("space"), "space", sample.spaces.size() - 1)));
  if (const JsonValue* const owner = from.find("owner")) {
    if (sample.processes.empty()) return std::unexpected(std::string("a socket before its process"));
    socket.process = static_cast<std::uint32_t>(EBB_TRY(number_of(owner, "owner", sample.processes.size() - 1)));
  }
  return socket;
}

Read add_line(const JsonValue& line, Sample& sample) {
  const std::string kind = EBB_TRY(text_of(line, "is"));
  if (kind == "note") {
    sample.notes.push_back(EBB_TRY(text_of(line, "text")));
  } else if (kind == "namespace") {
    Space space{.name = EBB_TRY(text_of(line, "name"))};
    NumberReader reader{line, {}};
    each_limit(space.limits, reader);
    if (!reader.result) return reader.result;
    sample.spaces.push_back(std::move(space));
  } else if (kind == "process") {
    const auto pid = EBB_TRY(number_of(line.find("pid"), "pid", ~std::uint32_t{0}));
    sample.processes.push_back({static_cast<std::uint32_t>(pid), EBB_TRY(text_of(line, "name"))});
  } else if (kind == "socket") {
    if (sample.sockets.size() >= Recording::sockets_max) return std::unexpected(std::string("too many sockets"));
    sample.sockets.push_back(EBB_TRY(socket_of(line, sample)));
  } else {
    return std::unexpected("there is no \"" + kind + "\" in a recording");
  }
  return {};
}

void print_line(const Print& print, auto&& members) {
  std::string out;
  observe::JsonWriter json(out);
  json.begin_object();
  members(json);
  json.end_object();
  out += '\n';
  print(out);
}

}  // namespace

void record(const Sample& sample, const Print& print) {
  const auto at = std::chrono::duration_cast<std::chrono::microseconds>(sample.at.time_since_epoch()).count();
  print_line(print, [&](auto& json) { json.member("is", "sample").member("version", 1).member("at_us", at); });
  for (const std::string& note : sample.notes) {
    print_line(print, [&](auto& json) { json.member("is", "note").member("text", note); });
  }
  for (const Space& space : sample.spaces) {
    print_line(print, [&](auto& json) {
      json.member("is", "namespace").member("name", space.name);
      write_limits(json, space.limits);
    });
  }
  for (const Process& process : sample.processes) {
    print_line(print, [&](auto& json) {
      json.member("is", "process").member("pid", process.pid).member("name", process.name);
    });
  }
  for (const Socket& socket : sample.sockets) {
    print_line(print, [&](auto& json) {
      json.member("is", "socket").member("space", socket.space);
      if (socket.process != no_index) json.member("owner", socket.process);
      write_facts(json, socket);
    });
  }
}

std::unexpected<std::string> Recording::refuse(const std::string& why) const {
  return std::unexpected("line " + std::to_string(number_) + ": " + why);
}

bool Recording::read_line(std::string& line) {
  line.clear();
  ++number_;
  for (char byte = 0; line.size() <= line_bytes_max && in_.get(byte);) {
    if (byte == '\n') return true;
    line += byte;
  }
  return !line.empty();
}

std::expected<std::optional<Sample>, std::string> Recording::next() {
  std::string line = std::exchange(pending_, {});
  if (line.empty() && !read_line(line)) return std::nullopt;
  std::optional<Sample> sample;
  do {
    if (line.size() > line_bytes_max) return refuse("is too long");
    const auto value = wire::read_json(line);
    if (!value) return refuse(value.error().why);
    const auto kind = text_of(*value, "is");
    if (kind && *kind == "sample") {
      if (sample) {
        pending_ = std::move(line);
        --number_;
        return sample;
      }
      const auto version = number_of(value->find("version"), "version", 1);
      const auto at = number_of(value->find("at_us"), "at_us", std::numeric_limits<std::int64_t>::max() / 1000);
      if (!version || *version != 1 || !at) return refuse("is not a recording of version 1");
      sample.emplace();
      sample->at = base::WallTime(std::chrono::microseconds(*at));
      continue;
    }
    if (!sample) return refuse("is no beginning of a sample; was this file made by `ebbgate conns --record`?");
    if (const Read added = add_line(*value, *sample); !added) return refuse(added.error());
  } while (read_line(line));
  return sample;
}

}  // namespace ebb::census
