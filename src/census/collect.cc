#include "census/collect.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <thread>
#include <utility>

#include "census/diag_dump.h"
#include "census/options_reader.h"
#include "census/translations.h"

namespace ebb::census {
namespace {

constexpr std::size_t thread_worth = 5'000;  // sockets

class Collector {
 public:
  Collector(const base::Clock& clock, const CollectOptions& options) : options_(options) { sample_.at = clock.wall(); }

  std::expected<Sample, std::string> run(std::span<const SpaceName> spaces) {
    // A pod's node translates its addresses: its table serves sockets of every namespace.
    if (auto own = open_space({"this", ""})) read_translations(*own, "this", own_translations_);
    std::string last_refusal;
    for (const SpaceName& space : spaces) {
      auto door = open_space(space);
      if (!door) {
        last_refusal = door.error();
        refused_.push_back(space.name);
        continue;
      }
      visit(space, *door);
    }
    if (sample_.spaces.empty()) return std::unexpected(last_refusal);
    find_owners();
    read_options();
    write_notes(last_refusal);
    return std::move(sample_);
  }

 private:
  void visit(const SpaceName& space, SpaceDoor& door) {
    const auto index = static_cast<std::uint32_t>(sample_.spaces.size());
    sample_.spaces.push_back({space.name, door.limits});
    const std::size_t first = sample_.sockets.size();
    read_sockets(door.diag, index);
    Translations translations;
    if (!space.path.empty()) read_translations(door, space.name, translations);
    for (std::size_t i = first; i < sample_.sockets.size(); ++i) {
      Socket& socket = sample_.sockets[i];
      if (socket.state == State::listen) continue;
      socket.real_peer = translations.real_peer(socket.local, socket.peer);
      if (!socket.real_peer.valid()) socket.real_peer = own_translations_.real_peer(socket.local, socket.peer);
    }
  }

  void read_sockets(NetlinkSocket& diag, std::uint32_t space) {
    const std::size_t first = sample_.sockets.size();
    const auto done = dump_sockets(diag, {.sockets_max = CollectOptions::sockets_max}, sample_.sockets, missed_);
    for (std::size_t i = first; i < sample_.sockets.size(); ++i) sample_.sockets[i].space = space;
    if (done) return;
    sample_.notes.push_back(fmt::format("the list of sockets of {} is not complete: {}", sample_.spaces[space].name,
                                        std::strerror(done.error())));
  }

  void read_translations(SpaceDoor& door, const std::string& name, Translations& into) {
    std::expected<void, int> done = std::unexpected(door.tracking_error);
    if (door.tracking) done = into.read(*door.tracking);
    missed_.unreadable += into.unreadable();
    if (done) return;
    sample_.notes.push_back(
        fmt::format("connection tracking of {} cannot be read ({}{}): peers behind service "
                    "addresses are shown by the service address",
                    name, std::strerror(done.error()), done.error() == EPERM ? "; root could" : ""));
  }

  void find_owners() {
    Owners owners = walk_processes();
    sample_.processes = std::move(owners.processes);
    closed_doors_ = owners.closed_doors;
    for (Socket& socket : sample_.sockets) {
      if (socket.inode == 0) continue;
      const Holder holder = owners.holder_of(socket.inode);
      socket.process = holder.process;
      socket.fd = holder.fd;
      if (holder.process == no_index) ++without_owner_;
    }
  }

  bool wants_options(const Socket& socket) const {
    if (socket.state == State::listen || socket.inode == 0) return false;
    return options_.options_of_all || socket.timer != Timer::none;
  }

  // Process by process, so that each is opened once; on several threads, since this is most of the work.
  void read_options() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < sample_.sockets.size(); ++i) {
      if (wants_options(sample_.sockets[i])) order.push_back(i);
    }
    std::ranges::sort(order, {}, [this](std::uint32_t i) { return std::pair(sample_.sockets[i].process, i); });
    const std::size_t threads =
        order.size() < thread_worth ? 1 : std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    std::vector<std::size_t> missed(threads);
    const auto read_share = [&](std::size_t share) {
      OptionsReader reader;
      for (std::size_t i = order.size() * share / threads; i < order.size() * (share + 1) / threads; ++i) {
        Socket& socket = sample_.sockets[order[i]];
        const Process* const process = sample_.process_of(socket);
        if (process == nullptr || !reader.read(*process, socket)) ++missed[share];
      }
    };
    {
      std::vector<std::jthread> others;
      for (std::size_t share = 1; share < threads; ++share) {
        others.emplace_back([&read_share, share] {
          ::unshare(CLONE_FILES);  // with its own descriptor table it neither waits nor counts references
          read_share(share);
        });
      }
      read_share(0);
    }
    without_options_ = std::accumulate(missed.begin(), missed.end(), std::size_t{0});
  }

  void write_notes(const std::string& last_refusal) {
    const bool root = ::geteuid() == 0;
    if (!refused_.empty()) {
      sample_.notes.push_back(fmt::format("network namespaces that could not be entered: {} ({}){}", refused_.size(),
                                          last_refusal, root ? "" : "; root could"));
    }
    if (without_owner_ > 0) {
      sample_.notes.push_back(fmt::format(
          "sockets of programs that could not be seen: {}{}", without_owner_,
          closed_doors_ > 0 ? fmt::format(" ({} processes are not ours; root would see them)", closed_doors_) : ""));
    }
    if (without_options_ > 0) {
      sample_.notes.push_back(fmt::format(
          "sockets whose options could not be read{1}, so that time-outs are assumed to be the defaults: {0}",
          without_options_, root ? "" : " (root could)"));
    }
    if (missed_.unreadable > 0) {
      sample_.notes.push_back(fmt::format("{} messages of the kernel made no sense", missed_.unreadable));
    }
    if (missed_.left_out > 0) {
      sample_.notes.push_back(fmt::format("{} sockets beyond the limit are left out", missed_.left_out));
    }
  }

  const CollectOptions options_;
  Sample sample_;
  Translations own_translations_;
  std::vector<std::string> refused_;
  DiagMissed missed_;
  std::size_t without_owner_ = 0;
  std::size_t without_options_ = 0;
  std::size_t closed_doors_ = 0;
};

}  // namespace

std::expected<Sample, std::string> collect(std::span<const SpaceName> spaces, const base::Clock& clock,
                                           const CollectOptions& options) {
  return Collector(clock, options).run(spaces);
}

}  // namespace ebb::census
