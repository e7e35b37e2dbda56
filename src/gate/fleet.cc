#include "gate/fleet.h"

#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <latch>
#include <mutex>

namespace ebb::gate {

namespace {

// The n-th of the processors that this process may use.
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

// Bound but not listening: it takes no connection, yet tells whether the workers will be able to bind.
int try_bind(const base::Address& address) {
  const int descriptor = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
  if (bind(descriptor, address.raw(), address.raw_size()) == 0) return descriptor;
  const int error = errno;
  ::close(descriptor);
  return -error;
}

}  // namespace

std::unique_ptr<Fleet> Fleet::start(const FleetOptions& options, const base::Labels& labels, std::string& error) {
  std::unique_ptr<Fleet> fleet(new Fleet);
  for (std::uint32_t i = 0; i < options.workers; ++i) {
    auto made = reactor::make_reactor(options.io, options.socket_limits, error);
    if (!made) return nullptr;
    Member& member = fleet->members_.emplace_back();
    member.reactor = std::move(*made);
    WorkerOptions worker{.clients_max = std::max(options.clients_max / options.workers, 1u)};
    if (options.access_log != nullptr) worker.access_log = &options.access_log->ring(i);
    member.worker = std::make_unique<Worker>(*member.reactor, labels, worker);
  }
  // Signals are for the control plane: threads inherit the mask that they are started with.
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

void Fleet::ask_all(const std::function<void(Worker&)>& question) {
  std::latch answered(static_cast<std::ptrdiff_t>(members_.size()));
  for (Member& member : members_) {
    member.reactor->post([&] {
      question(*member.worker);
      answered.count_down();
    });
  }
  answered.wait();
}

std::vector<std::string> Fleet::apply(const Configuration& configuration) {
  std::vector<std::string> problems;
  std::vector<int> held;
  std::vector<base::Address> wanted;
  for (const routes::Listener& listener : configuration.snapshot->listeners()) {
    wanted.push_back(listener.model.bind);
    if (std::find(bound_.begin(), bound_.end(), listener.model.bind) != bound_.end()) continue;
    const int descriptor = try_bind(listener.model.bind);
    if (descriptor >= 0) {
      held.push_back(descriptor);
    } else {
      problems.push_back("listener " + listener.model.name + " cannot bind " + listener.model.bind.text() + ": " +
                         std::strerror(-descriptor));
    }
  }
  if (problems.empty()) {
    std::mutex mutex;
    ask_all([&](Worker& worker) {
      std::vector<std::string> found = worker.apply(configuration);
      std::lock_guard lock(mutex);
      problems.insert(problems.end(), found.begin(), found.end());
    });
    bound_ = std::move(wanted);
  }
  for (const int descriptor : held) ::close(descriptor);
  return problems;
}

void Fleet::stop(base::Duration grace) {
  if (std::exchange(stopped_, true)) return;
  const base::SystemClock clock;
  const base::Instant deadline = clock.now() + grace;
  ask_all([](Worker& worker) { worker.drain(); });
  for (;;) {
    std::atomic<bool> quiet = true;
    ask_all([&quiet](Worker& worker) {
      if (!worker.quiet()) quiet = false;
    });
    if (quiet || clock.now() >= deadline) break;
    timespec pause{0, 10'000'000};
    nanosleep(&pause, nullptr);
  }
  ask_all([](Worker& worker) { worker.cut(); });
  for (Member& member : members_) {
    member.reactor->stop();
    if (member.thread.joinable()) member.thread.join();
    member.worker.reset();
  }
}

}  // namespace ebb::gate
