// What the parts of one worker share: the reactor, the current configuration, the counters and each other. Owned by
// the Worker; nothing in here is seen by another thread.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/labels.h"
#include "base/rng.h"
#include "gate/configuration.h"
#include "observe/access_log.h"
#include "observe/counters.h"
#include "reactor/reactor.h"
#include "routes/rate_limit.h"
#include "wire/h1_head.h"

namespace ebb::gate {

class ClientLimits;
class Clients;
class H2Clients;
class Exchanges;
class Intake;
class Bonds;
class Attempts;
class HeldRequests;
class Moves;
class RequestPath;
class ResponsePath;
class Tunnel;
class Deadlines;
class Records;
class Backends;
class H2Backends;
class Endpoints;
class HealthWatch;
class Checks;
class Datagrams;
class Mirrors;
class Witnesses;
struct MissingRow;  // a test that lets machines meet events that they have no row for (tests/sim/missing_row_test.cc)

// Who an event of the reactor is for.
enum OwnerKind : std::uint32_t {
  owner_listener = 1,
  owner_client,
  owner_backend,
  owner_exchange,
  owner_datagrams,
  owner_flow,
  owner_endpoint,
  owner_health,
  owner_check
};

// Unsent output above this stops the side that produces it; the rest of a body waits in the kernel's buffers.
inline constexpr std::size_t output_high_water = std::size_t{256} << 10;
// What waits for one side is charged by the memory that it holds: many small pieces may hold much more than they are.
// `share`: what the client may hold of the worker's buffers for this exchange.
constexpr bool waits_too_much(std::size_t unsent, std::size_t held, std::size_t share) {
  return unsent > output_high_water || held > std::min(share, 2 * output_high_water);
}
// Bodies with at least this much to come go through the kernel (splice) where both sides are plain.
inline constexpr std::uint64_t pump_bytes_min = std::uint64_t{64} << 10;
// Up to this much payload is copied behind a head instead of pinning the block that it was received in.
inline constexpr std::size_t copy_bytes_max = 2048;
// How long a finished connection is listened to (RFC 9112 9.6).
inline constexpr base::Duration linger_time = std::chrono::seconds{2};

class Worker;

// The way from one worker to the others: the task runs on that worker's thread, soon.
struct Siblings {
  std::size_t self = 0;
  std::size_t count = 1;
  // Which of them keeps the book on an endpoint.
  std::size_t home(std::uint64_t identity) const { return identity % count; }
  std::function<void(std::size_t worker, std::move_only_function<void(Worker&)> task)> post{};  // null: alone
};

struct HealthChange;
struct SilenceRelief;

struct Core {
  reactor::Reactor& reactor;
  const base::Labels& labels;
  observe::Counters counters{};
  observe::AccessLog::Ring* access_log = nullptr;
  observe::LogFormat log_format = observe::LogFormat::off;
  std::string log_line{};  // reused for each line
  SnapshotRef current{};
  bool stopping = false;  // answers now end their connections
  std::uint32_t clients_max = UINT32_MAX;
  ClientLimits* client_limits = nullptr;
  Siblings siblings{};
  std::function<void(const HealthChange&)> on_health_change{};  // of those endpoints whose home this worker is
  std::function<void(const SilenceRelief&)> on_relief{};
  base::Rng random{0};
  std::unique_ptr<routes::RateTable> rates{};  // made when a route asks for it
  std::size_t encoder_bytes = 0;               // memory of all encoders

  // Heads are read into these: large, reused, valid only while their bytes are.
  wire::RequestHead request{};
  wire::ResponseHead response{};

  Clients* clients = nullptr;
  H2Clients* h2_clients = nullptr;
  Exchanges* exchanges = nullptr;
  Intake* intake = nullptr;
  Bonds* bonds = nullptr;
  Attempts* attempts = nullptr;
  HeldRequests* held = nullptr;
  Moves* moves = nullptr;
  RequestPath* request_path = nullptr;
  ResponsePath* response_path = nullptr;
  Tunnel* tunnel = nullptr;
  Deadlines* deadlines = nullptr;
  Records* records = nullptr;
  Backends* backends = nullptr;
  H2Backends* h2_backends = nullptr;
  Endpoints* endpoints = nullptr;
  HealthWatch* health = nullptr;
  Checks* checks = nullptr;
  Mirrors* mirrors = nullptr;
  Witnesses* witnesses = nullptr;
  Datagrams* datagrams = nullptr;

  const routes::Timeouts& timeouts() const { return current->model().timeouts; }
  wire::HeadLimits head_limits() const {
    const routes::Limits& limits = current->model().limits;
    return {limits.head_bytes, limits.target_bytes, limits.fields};
  }
  // A handle that had to name something named nothing; see EBB_FIND.
  [[gnu::cold]] void lost() { counters.lost_handles += 1; }
  // How many bytes are best received: a bulk receive takes up to eight blocks at once, which may be more than is left.
  reactor::Receive bulk() const {
    return reactor.blocks().share() < output_high_water ? reactor::Receive::piecewise : reactor::Receive::bulk;
  }
  void arm(base::Timer& timer, base::Duration after) { reactor.timers().arm(timer, reactor.now() + after); }
};

// Those whose machine met an event that its table has no row for (lifecycle/machine.h). Their state is as before, and
// whoever reported the event goes on; when the round ends each is closed with Cause::internal, and nobody else is
// harmed.
class Broken {
 public:
  [[gnu::cold]] void add(Core& core, base::Handle handle) {
    core.counters.missing_transitions += 1;
    handles_.push_back(handle);
  }
  std::vector<base::Handle> take() { return std::exchange(handles_, {}); }

 private:
  std::vector<base::Handle> handles_;
};

}  // namespace ebb::gate

// `name` refers to what the look-up finds. Where it finds nothing the function returns (what is given behind it) and
// that is counted: a stale handle harms the one exchange whose it is, which then ends by its deadline, and nobody else.
#define EBB_FIND(name, lookup, ...)           \
  auto* const name##_found = (lookup);        \
  if (name##_found == nullptr) [[unlikely]] { \
    core_.lost();                             \
    return __VA_ARGS__;                       \
  }                                           \
  auto& name = *name##_found
