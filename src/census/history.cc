#include "census/history.h"

#include <algorithm>

#include "census/classify.h"

namespace ebb::census {
namespace {

std::uint64_t port_key(const Socket& socket) { return std::uint64_t{socket.space} << 16 | socket.local.port(); }

}  // namespace

History::Group History::group_of(const Sample& sample, const Socket& socket) const {
  Group group{.pid = sample.process_of(socket)->pid, .service = socket.far_end()};
  // The other port of an accepted connection is random.
  if (std::ranges::binary_search(served_, port_key(socket))) group.service.set_port(socket.local.port());
  return group;
}

void History::add(const Sample& sample) {
  served_.clear();
  for (const Socket& socket : sample.sockets) {
    if (socket.state == State::listen) served_.push_back(port_key(socket));
  }
  std::ranges::sort(served_);

  std::unordered_map<std::uint64_t, base::WallTime> seen;
  seen.reserve(sample.sockets.size());
  for (auto& [group, counts] : counts_) counts.push_back(0);
  for (const Socket& socket : sample.sockets) {
    const auto known = first_seen_.find(socket.cookie);
    seen.emplace(socket.cookie, known == first_seen_.end() ? sample.at : known->second);
    if (socket.process == no_index || !is_open(socket.state)) continue;
    auto& counts = counts_[group_of(sample, socket)];
    if (counts.empty()) counts.assign(std::min(samples_, samples_max) + 1, 0);
    ++counts.back();
  }
  first_seen_ = std::move(seen);
  std::erase_if(counts_,
                [](const auto& each) { return std::ranges::all_of(each.second, [](auto n) { return n == 0; }); });
  for (auto& [group, counts] : counts_) {
    while (counts.size() > samples_max) counts.pop_front();
  }
  ++samples_;
  last_ = sample.at;
}

bool History::grows(const std::deque<std::uint32_t>& counts) {
  if (counts.size() < samples_min || counts.back() < counts.front() + growth_min) return false;
  if (!std::ranges::is_sorted(counts)) return false;
  // A single burst is a pool that was filled.
  std::size_t rises = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) rises += counts[i] > counts[i - 1] ? 1 : 0;
  return rises >= samples_min - 1 && rises * 2 >= counts.size() - 1 && counts.back() > counts[counts.size() - 3];
}

bool History::only_grows(const Sample& sample, const Socket& socket) const {
  if (socket.process == no_index || !is_open(socket.state)) return false;
  const auto found = counts_.find(group_of(sample, socket));
  return found != counts_.end() && grows(found->second);
}

std::optional<Age> History::age(const Socket& socket) const {
  if (socket.state == State::listen) return std::nullopt;
  std::int64_t at_least = 0;
  if (const auto known = first_seen_.find(socket.cookie); known != first_seen_.end()) {
    at_least = base::to_ms(last_ - known->second);
  }
  if (socket.has_info && (is_open(socket.state) || socket.state == State::last_ack || socket.state == State::closing)) {
    // Both stamps are set when the connection is established (tcp_finish_connect, tcp_create_openreq_child). Without
    // data in that direction, they show the connection's age.
    if (socket.segments_received == 0) return Age{socket.last_received_ms, true};
    if (socket.segments_sent == 0) return Age{socket.last_sent_ms, true};
    at_least = std::max<std::int64_t>({at_least, socket.last_received_ms, socket.last_sent_ms});
  }
  if (at_least == 0) return std::nullopt;
  return Age{at_least, false};
}

}  // namespace ebb::census
