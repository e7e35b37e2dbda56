// Probes every leg repeatedly and keeps the results. One object for the life of the router, with its own reactor: all
// calls and callbacks are on that reactor's thread (other threads use post()).
//
// The prober cannot leak connections itself. A leg has at most one connection, and never a second before the first is
// closed. The budget ends a probe that hangs. There are therefore never more sockets than legs, whatever the period and
// however long the prober runs.
//
// Next: probe (one probe), judge (the answer), leg_state (the state from the last probes), rotation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rng.h"
#include "base/slot_map.h"
#include "canary/agreement.h"
#include "canary/leg.h"
#include "canary/leg_state.h"
#include "canary/probe_result.h"
#include "canary/resolver.h"
#include "canary/rotation.h"
#include "canary/schedule.h"
#include "reactor/reactor.h"

namespace ebb::canary {

struct ProberOptions {
  Schedule schedule;
  Tolerance tolerance;
  RotationPlan rotation;  // without ports: the port is not checked
  Echo echo = Echo::required;
  std::string body = std::string(body_text);                    // every answer must contain it; "": any
  std::vector<std::string> pods = {};                           // allowed pods; empty: any
  base::Duration settle = std::chrono::minutes{2};              // for a change to reach all replicas
  base::Duration expiry_warning = std::chrono::hours{24 * 14};  // before a certificate expires
  std::uint64_t probes_per_leg = UINT64_MAX;                    // then the leg stops
  std::uint64_t seed = 0;                                       // for nonces and jitter
};

// This router's configuration.
struct OwnConfiguration {
  std::uint64_t generation = 0;
  std::string digest;
};

struct LegFacts {
  Leg leg;
  LegState state;
  std::optional<ProbeResult> last;
  PhaseHistograms durations;
};

struct ProberFacts {
  std::vector<LegFacts> legs;
  Condition condition;  // over all legs
  std::optional<std::uint16_t> wanted_port;
  std::uint64_t port_moves = 0;
  std::size_t sockets = 0;        // open now
  std::uint64_t connections = 0;  // opened in total
};

class Prober final : public reactor::Handler {
 public:
  struct Callbacks {
    // Called after each probe; `news` if the leg's state changed.
    std::function<void(const Leg&, const ProbeResult&, LegState::News, const Condition&)> probed;
    // The canary's route should lead to this port from now on. Also called by start(), for the first port.
    std::function<void(std::uint16_t port)> port_wanted;
  };

  Prober(reactor::Reactor& reactor, Resolver& resolver, ProberOptions options, Callbacks callbacks);
  ~Prober() override;
  Prober(const Prober&) = delete;
  Prober& operator=(const Prober&) = delete;

  // Legs that existed before keep their history; probes in progress are dropped. Not from a callback.
  void set_legs(std::vector<Leg> legs);
  // Call once all workers of this router have the configuration: answers to later requests must show it, or a newer
  // one.
  void set_configuration(OwnConfiguration ours) { ours_ = std::move(ours); }
  ProberFacts facts() const;
  std::size_t sockets() const;
  bool owns(base::Owner owner, base::Handle socket);  // for the self-audit

 private:
  struct Walk;  // a leg and its history
  enum OwnerKind : std::uint32_t { connection, due, budget };

  void on_accepted(base::Owner, reactor::SocketId socket, const base::Address&) override;
  void on_connected(base::Owner owner) override;
  void on_received(base::Owner owner, base::Slice bytes) override;
  void on_peer_finished(base::Owner owner) override;
  void on_drained(base::Owner) override {}
  void on_pumped(base::Owner, std::uint64_t, bool) override {}
  void on_failed(base::Owner owner, const base::Error& error) override;
  void on_timer(base::Owner owner) override;
  void on_round_end() override {}

  Walk* find(base::Owner owner);
  void begin(Walk& walk);
  void look_up(Walk& walk);
  void conclude(Walk& walk, std::optional<ProbeResult> result);
  void count_round(const Walk& walk, bool failing_before);
  Expectation expectation(const Walk& walk);
  void expect_configuration(const Leg& leg, Expectation& expected) const;
  void note_configuration(const Leg& leg, const ProbeResult& result);

  reactor::Reactor& reactor_;
  Resolver& resolver_;
  const ProberOptions options_;
  Callbacks callbacks_;
  base::Rng random_;
  PortRotation rotation_;
  Rounds rounds_;
  std::optional<OwnConfiguration> ours_;
  std::map<std::string, Agreement> agreements_;  // of other replicas, by name
  std::vector<base::Handle> order_;              // the legs, in the given order
  base::SlotMap<Walk> walks_;
  std::uint64_t connections_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // the resolver may answer after this object is gone
};

}  // namespace ebb::canary
