#include "census/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "census/words.h"

namespace ebb::census {
namespace {

constexpr std::array<std::string_view, 14> headings = {"NETNS", "STATE", "RECV-Q",  "SEND-Q", "LOCAL",
                                                       "PEER",  "TIMER", "AGE",     "IN",     "OUT",
                                                       "RTT",   "ENDS",  "VERDICT", "PROCESS"};
constexpr std::size_t table_piece_bytes = 64 * 1024;
constexpr std::size_t measured_lines = 1000;
using Cells = std::array<std::string, headings.size()>;
using Widths = std::array<std::size_t, headings.size()>;

Cells cells_of(const Census& census, std::uint32_t index) {
  const Sample& sample = census.sample;
  const Socket& socket = sample.sockets[index];
  const Classification& classification = census.classifications[index];
  const auto ago = [&socket](std::uint32_t ms) { return is_open(socket.state) ? duration_text(ms) : "-"; };
  return {sample.spaces.size() > 1 ? harmless(sample.spaces[socket.space].name) : "",
          std::string(name(socket.state)),
          fmt::format("{}", socket.receive_queue),
          fmt::format("{}", socket.send_queue),
          socket.local.text(),
          peer_text(socket),
          timer_text(socket),
          age_text(census.ages[index]),
          ago(socket.last_received_ms),
          ago(socket.last_sent_ms),
          socket.rtt_us == 0 ? "-" : fmt::format("{}.{:02}ms", socket.rtt_us / 1000, socket.rtt_us % 1000 / 10),
          socket.state == State::listen ? "-" : ends_text(classification.give_up),
          std::string(name(classification.socket_class())),
          process_text(sample, socket)};
}

void append_line(std::string& out, const Cells& cells, const Widths& widths) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (widths[i] == 0) continue;
    out += cells[i];
    if (i + 1 < cells.size()) out.append(widths[i] - std::min(widths[i], cells[i].size()) + 2, ' ');
  }
  out += '\n';
}

std::string group_key(const Census& census, std::uint32_t index, GroupBy by) {
  const Socket& socket = census.sample.sockets[index];
  if (by == GroupBy::verdict) return std::string(name(census.classifications[index].socket_class()));
  if (by == GroupBy::peer) return socket.state == State::listen ? "(listening)" : socket.far_end().host_text();
  const Process* const process = census.sample.process_of(socket);
  if (process != nullptr) return fmt::format("{}/{}", harmless(process->name), process->pid);
  if (socket.unaccepted()) return "(not accepted)";
  return socket.inode == 0 ? "(the kernel)" : "(not seen)";
}

struct Group {
  std::size_t sockets = 0;
  std::uint64_t receive_queue = 0;
  std::uint64_t send_queue = 0;
  std::array<std::size_t, socket_class_names.size()> classes{};
};

std::string class_counts(const std::array<std::size_t, socket_class_names.size()>& counts) {
  std::string out;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", counts[i], socket_class_names[i]);
  }
  return out;
}

std::int64_t ends_in(const Classification& classification) {
  return classification.give_up.in_ms.value_or(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

void sort(const Census& census, SortBy by, std::vector<std::uint32_t>& shown) {
  const auto& sockets = census.sample.sockets;
  const auto key = [&](std::uint32_t i) -> std::int64_t {
    switch (by) {
      case SortBy::verdict: return static_cast<std::int64_t>(census.classifications[i].socket_class());
      case SortBy::queue: return -(std::int64_t{sockets[i].receive_queue} + sockets[i].send_queue);
      case SortBy::ends: return ends_in(census.classifications[i]);
      case SortBy::age: return census.ages[i] ? -census.ages[i]->ms : 0;
      case SortBy::process: return sockets[i].process;
    }
    return 0;
  };
  std::ranges::sort(shown, {}, [&key](std::uint32_t i) { return std::pair(key(i), i); });
}

// Widths are those of the first lines: it does not wait for the rest of a hundred thousand.
void print_table(const Census& census, std::span<const std::uint32_t> shown, const Print& print) {
  Widths widths{};
  for (std::size_t i = census.sample.spaces.size() > 1 ? 0 : 1; i < headings.size(); ++i)
    widths[i] = headings[i].size();
  std::vector<Cells> first;
  for (const std::uint32_t index : shown.first(std::min(shown.size(), measured_lines))) {
    first.push_back(cells_of(census, index));
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], first.back()[i].size());
  }
  std::string out;
  Cells heading;
  std::ranges::copy(headings, heading.begin());
  append_line(out, heading, widths);
  for (const Cells& cells : first) append_line(out, cells, widths);
  for (const std::uint32_t index : shown.subspan(first.size())) {
    append_line(out, cells_of(census, index), widths);
    if (out.size() < table_piece_bytes) continue;
    print(out);
    out.clear();
  }
  print(out);
}

void print_groups(const Census& census, std::span<const std::uint32_t> shown, GroupBy by, const Print& print) {
  std::map<std::string, Group> groups;
  for (const std::uint32_t index : shown) {
    const Socket& socket = census.sample.sockets[index];
    Group& group = groups[group_key(census, index, by)];
    ++group.sockets;
    if (socket.state != State::listen) {
      group.receive_queue += socket.receive_queue;
      group.send_queue += socket.send_queue;
    }
    ++group.classes[static_cast<std::size_t>(census.classifications[index].socket_class())];
  }
  std::vector<std::pair<std::string_view, const Group*>> order;
  std::size_t width = 7;
  for (const auto& [key, group] : groups) {
    order.emplace_back(key, &group);
    width = std::max(width, key.size());
  }
  std::ranges::sort(order, {}, [](const auto& each) {
    return std::pair(~each.second->sockets, each.first);  // largest first
  });
  constexpr std::array<std::string_view, 4> titles = {"", "PROCESS", "PEER", "VERDICT"};
  std::string out = fmt::format("{:<{}}  {:>8}  {:>10}  {:>10}  VERDICTS\n", titles[static_cast<std::size_t>(by)],
                                width, "SOCKETS", "RECV-Q", "SEND-Q");
  for (const auto& [key, group] : order) {
    out += fmt::format("{:<{}}  {:>8}  {:>10}  {:>10}  {}\n", key, width, group->sockets, group->receive_queue,
                       group->send_queue, class_counts(group->classes));
  }
  print(out);
}

std::string summary(const Census& census, std::span<const std::uint32_t> shown) {
  std::array<std::size_t, socket_class_names.size()> counts{};
  for (const std::uint32_t index : shown)
    ++counts[static_cast<std::size_t>(census.classifications[index].socket_class())];
  return fmt::format("{} sockets{}{}", shown.size(), shown.empty() ? "" : ": ", class_counts(counts));
}

}  // namespace ebb::census
