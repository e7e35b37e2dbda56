#include "control/fleet.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <latch>
#include <mutex>

#include "gate/bind_overlap.h"
#include "reactor/sockets.h"

namespace ebb::control {

namespace {

// Pins to the n-th of the processors that this process may use.
void pin_this_thread(std::size_t index) {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  const int count = CPU_COUNT(&allowed);
  int wanted = static_cast<int>(index) % std::max(count, 1);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || wanted-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
    return;
  }
}

int socket_type(const routes::ListenerModel& listener) {
  return listener.protocol == routes::Protocol::udp ? SOCK_DGRAM : SOCK_STREAM;
}

}  // namespace

// The seed prevents clients from choosing addresses that collide in a table.
Fleet::Fleet() : client_limits_(static_cast<std::uint64_t>(base::SystemClock().wall().time_since_epoch().count())) {}

std::unique_ptr<Fleet> Fleet::start(const FleetOptions& options, const base::Labels& labels, std::string& error) {
  std::unique_ptr<Fleet> fleet(new Fleet);
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    auto made = reactor::make_reactor(options.io, options.socket_limits, error);
    if (!made) return nullptr;
    Member& member = fleet->members_.emplace_back();
    member.reactor = std::move(*made);
    gate::WorkerOptions worker{.clients_max = std::max(options.clients_max / options.workers, 1u),
                               .client_limits = &fleet->client_limits_,
                               .siblings = fleet->siblings_of(i, options.workers),
                               .on_health_change = options.on_health_change,
                               .on_relief = options.on_relief};
    if (options.access_log != nullptr) worker.access_log = &options.access_log->ring(i);
    member.worker = std::make_unique<gate::Worker>(*member.reactor, labels, worker);
  }
  // The control plane handles signals: threads inherit the mask of their creator.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (std::size_t i = 0; i < fleet->members_.size(); ++i) {
    Member& member = fleet->members_[i];
    member.thread = std::thread([&member, i] {
      pthread_setname_np(pthread_self(), ("worker-" + std::to_string(i)).c_str());
      pin_this_thread(i);
      member.reactor->run(*member.worker);
    });
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return fleet;
}

Fleet::~Fleet() { stop(base::Duration{}); }

const char* Fleet::io_name() const { return members_.front().reactor->name(); }

void Fleet::ask_all(const std::function<void(gate::Worker&)>& question) {
  std::latch answered(static_cast<std::ptrdiff_t>(members_.size()));
  for (Member& member : members_) {
    member.reactor->post([&] {
      question(*member.worker);
      answered.count_down();
    });
  }
  answered.wait();
}

// Workers share addresses by SO_REUSEPORT, and would also share them with another router; so each new address is tried
// without it. Skipped where a listener of our own is in the way: then only the workers can tell.
std::vector<std::string> Fleet::try_addresses(const routes::Snapshot& next, std::vector<Bound>& wanted) {
  std::vector<std::string> problems;
  for (const routes::Listener& listener : next.listeners()) {
    const base::Address& address = listener.model.bind;
    const int type = socket_type(listener.model);
    wanted.push_back({address, type});
    const auto overlaps = [&](const Bound& ours) {
      return ours.type == type && gate::binds_overlap(ours.address, address);
    };
    if (std::any_of(bound_.begin(), bound_.end(), overlaps)) continue;
    const int error = try_address(address, type);
    if (error == 0) continue;
    problems.push_back("listener " + listener.model.name + " cannot bind " + address.text() + ": " +
                       std::strerror(error));
  }
  return problems;
}

// A worker keeps the socket of a listener that left for some milliseconds more, for handshakes under way. A listener
// that comes back at once would find it in the way; so workers are asked, and the address is tried again if none holds
// one.
int Fleet::try_address(const base::Address& address, int type) {
  const int error = reactor::try_bind(address, type);
  if (error != EADDRINUSE || type != SOCK_STREAM) return error;
  std::atomic<bool> held = false;
  ask_all([&](gate::Worker& worker) {
    if (worker.holds_listener(address)) held = true;
  });
  return held ? 0 : reactor::try_bind(address, type);
}

std::vector<std::string> Fleet::apply(const gate::Configuration& configuration) {
  std::vector<Bound> wanted;
  std::vector<std::string> problems = try_addresses(*configuration.snapshot, wanted);
  if (!problems.empty()) return problems;
  std::mutex mutex;
  ask_all([&](gate::Worker& worker) {
    std::vector<std::string> found = worker.prepare(configuration);
    std::lock_guard lock(mutex);
    problems.insert(problems.end(), found.begin(), found.end());
  });
  if (!problems.empty()) {
    ask_all([](gate::Worker& worker) { worker.abandon(); });
    std::sort(problems.begin(), problems.end());
    problems.erase(std::unique(problems.begin(), problems.end()), problems.end());  // the same from several workers
    return problems;
  }
  ask_all([](gate::Worker& worker) { worker.commit(); });
  bound_ = std::move(wanted);
  return problems;
}

void Fleet::change_endpoints(const std::shared_ptr<const gate::EndpointList>& list) {
  for (Member& member : members_) {
    member.reactor->post([&member, list] { member.worker->change_endpoints(*list); });
  }
}

// By index: the members are still being created.
gate::Siblings Fleet::siblings_of(std::size_t self, std::size_t count) {
  return {self, count, [this](std::size_t index, std::move_only_function<void(gate::Worker&)> task) {
            Member& member = members_[index];
            member.reactor->post([&member, task = std::move(task)]() mutable { task(*member.worker); });
          }};
}

void Fleet::stop(base::Duration grace) {
  if (std::exchange(stopped_, true)) return;
  // Shared: a worker may become idle after the grace is over.
  struct Busy {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t workers;
  };
  auto busy = std::make_shared<Busy>();
  busy->workers = members_.size();
  ask_all([&busy](gate::Worker& worker) {
    worker.drain([busy] {
      std::lock_guard lock(busy->mutex);
      busy->workers -= 1;
      busy->changed.notify_all();
    });
  });
  {
    std::unique_lock lock(busy->mutex);
    busy->changed.wait_for(lock, grace, [&busy] { return busy->workers == 0; });
  }
  ask_all([](gate::Worker& worker) { worker.cut(); });
  for (Member& member : members_) {
    member.reactor->stop();
    if (member.thread.joinable()) member.thread.join();
    member.worker.reset();
  }
}

}  // namespace ebb::control
