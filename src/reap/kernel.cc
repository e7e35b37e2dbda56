#include "reap/kernel.h"

#include <fmt/format.h>
#include <linux/sock_diag.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <span>

#include "census/classify.h"
#include "census/conntrack_entry.h"
#include "census/diag_dump.h"
#include "census/time_outs.h"
#include "census/translations.h"

namespace ebb::reap {
namespace {

using census::State;

// Listeners are never ended; they show which connections the peer opened.
constexpr std::uint32_t looked_at_states = census::bit(State::listen) | census::bit(State::established) |
                                           census::bit(State::syn_sent) | census::bit(State::close_wait) |
                                           census::bit(State::fin_wait1) | census::bit(State::fin_wait2);

// On a busy node most of the table belongs to others: one request for each socket costs about two entries of a dump.
constexpr std::size_t cheaper_whole = 2;

// The path in the unified hierarchy (cgroups(7), /proc/[pid]/cgroup).
std::string read_cgroup(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cgroup");
  constexpr std::string_view unified = "0::";
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with(unified)) return line.substr(unified.size());
  }
  return {};
}

}  // namespace

std::expected<census::Sample, std::string> LiveKernel::look(const Wanted& wanted) { return take(wanted, Depth::all); }

std::expected<census::Sample, std::string> LiveKernel::glance(const Wanted& wanted) {
  return take(wanted, Depth::stirred);
}

std::expected<census::Sample, std::string> LiveKernel::take(const Wanted& wanted, Depth depth) {
  leave();
  ++looks_;
  census::Sample sample{.at = clock_.wall()};
  constexpr census::Limits not_asked_for;
  auto home = census::open_door(&not_asked_for);
  if (!home) return std::unexpected(home.error());
  home_ = std::move(*home);
  std::vector<census::SpaceName> others;
  for (census::SpaceName& space : census::all_spaces()) {
    if (!wanted(space.name)) continue;
    if (space.path.empty()) {
      visit(space, depth, sample);
    } else {
      others.push_back(std::move(space));
    }
  }
  census::visit_spaces(others, [&](std::size_t i, const std::expected<void, std::string>& entered) {
    if (entered) {
      visit(others[i], depth, sample);
    } else {
      sample.notes.push_back(entered.error());
    }
  });
  translate_by_node(sample);
  std::erase_if(known_, [this](const auto& each) { return each.second.listed != looks_; });
  return sample;
}

void LiveKernel::visit(const census::SpaceName& space, Depth depth, census::Sample& sample) {
  Known& known = known_[space.id];
  known.listed = looks_;
  const auto time_outs = census::read_time_outs();  // before the dump: later time-outs are seen the next time
  const bool calm = time_outs && known.time_outs == time_outs && !known.stalled;
  known.time_outs = time_outs;
  if (depth == Depth::all || !calm) dump(space, known, sample);
}

void LiveKernel::dump(const census::SpaceName& space, Known& known, census::Sample& sample) {
  const bool old = clock_.now() - known.limits_read_at >= limits_age_max;
  auto door = census::open_door(known.limits && !old ? &*known.limits : nullptr);
  if (!door) {
    sample.notes.push_back(fmt::format("{}: {}", space.name, door.error()));
    return;
  }
  if (!known.limits || old) known.limits_read_at = clock_.now();
  known.limits = door->limits;
  const auto index = static_cast<std::uint32_t>(sample.spaces.size());
  const std::size_t first = sample.sockets.size();
  census::DiagMissed missed;
  const auto read = census::dump_sockets(door->diag, {.states = looked_at_states}, sample.sockets, missed);
  if (!read) sample.notes.push_back(fmt::format("sockets of {}: {}", space.name, std::strerror(read.error())));
  census::Translations inside;
  // Most pods have no entries of their own, and finding that by a dump would walk the table of all namespaces.
  if (!space.path.empty() && door->tracking && door->entries > 0) static_cast<void>(inside.read(*door->tracking));
  known.stalled = false;
  for (census::Socket& socket : std::span(sample.sockets).subspan(first)) {
    known.stalled = known.stalled || census::is_stalled(socket, 1);
    socket.space = index;
    socket.real_peer = inside.real_peer(socket.local, socket.peer);
  }
  sample.spaces.push_back({space.name, door->limits});
  visited_.push_back(space);
}

void LiveKernel::translate_by_node(census::Sample& sample) {
  std::vector<census::Socket*> untranslated;
  for (census::Socket& socket : sample.sockets) {
    const bool has_peer = socket.inode != 0 && socket.state != State::listen;
    if (has_peer && !socket.real_peer.valid()) untranslated.push_back(&socket);
  }
  if (untranslated.empty() || !home_->tracking) return;
  census::Translations translations;
  std::expected<void, int> read;
  if (home_->entries <= cheaper_whole * untranslated.size()) {
    read = translations.read(*home_->tracking);
  } else {
    for (const census::Socket* const socket : untranslated) {
      const auto entry = census::find_entry(*home_->tracking, {socket->local, socket->peer});
      if (entry) translations.add(*entry);
      if (!entry && entry.error() != ENOENT) read = std::unexpected(entry.error());
    }
  }
  if (!read) sample.notes.push_back(fmt::format("connection tracking: {}", std::strerror(read.error())));
  for (census::Socket* const socket : untranslated) {
    socket->real_peer = translations.real_peer(socket->local, socket->peer);
  }
}

std::string LiveKernel::cgroup_of(std::uint32_t pid) {
  const auto [known, first] = cgroups_.try_emplace(pid);
  if (first) known->second = read_cgroup(pid);
  return known->second;
}

census::SpaceDoor* LiveKernel::door_of(std::uint32_t space) {
  if (const auto known = doors_.find(space); known != doors_.end()) return &known->second;
  auto door = census::open_space(visited_[space]);
  return door ? &doors_.emplace(space, std::move(*door)).first->second : nullptr;
}

std::vector<census::NetlinkSocket*> LiveKernel::tracking_of(std::uint32_t space) {
  std::vector<census::NetlinkSocket*> tables;
  for (census::SpaceDoor* const door : {door_of(space), &*home_}) {
    if (door != nullptr && door->tracking) tables.push_back(&*door->tracking);
  }
  return tables;
}

std::expected<Fresh, int> LiveKernel::look_again(const census::Socket& socket) {
  census::SpaceDoor* const door = door_of(socket.space);
  if (door == nullptr) return std::unexpected(ENOENT);
  auto found = census::find_socket(door->diag, socket);
  if (!found) return std::unexpected(found.error());
  Fresh fresh{.socket = *found};
  for (census::NetlinkSocket* const table : tracking_of(socket.space)) {
    const auto entry = census::find_entry(*table, {socket.local, socket.peer});
    if (!entry) continue;
    census::Translations translations;
    translations.add(*entry);
    fresh.socket.real_peer = translations.real_peer(socket.local, socket.peer);
    fresh.entry = *entry;
    if (fresh.socket.real_peer.valid()) break;
  }
  return fresh;
}

std::expected<void, int> LiveKernel::destroy(const census::Socket& socket) {
  census::SpaceDoor* const door = door_of(socket.space);
  if (door == nullptr) return std::unexpected(ENOENT);
  const inet_diag_req_v2 request = census::diag_request(socket);
  return door->diag.ask(SOCK_DESTROY, std::as_bytes(std::span(&request, 1)));
}

bool LiveKernel::forget(const Fresh& fresh) {
  if (!fresh.entry) return false;
  bool deleted = false;
  for (census::NetlinkSocket* const table : tracking_of(fresh.socket.space)) {
    deleted = census::delete_entry(*table, *fresh.entry).has_value() || deleted;
  }
  return deleted;
}

void LiveKernel::leave() {
  visited_.clear();
  doors_.clear();
  home_.reset();
  cgroups_.clear();
}

}  // namespace ebb::reap
