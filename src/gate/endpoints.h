// The endpoints that this worker knows: the three axes of each life, how busy it is, and its pool of idle connections;
// and the live list of each backend with the requests that wait for it. Both outlive snapshots: an exchange that began
// under an old one follows the list of today. An endpoint that left goes when nothing uses it any more.
//
// Before: gate/roster, in the control plane. Next: gate/balance.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/list.h"
#include "gate/backend_connection.h"
#include "gate/choice.h"
#include "gate/core.h"
#include "gate/endpoint_facts.h"
#include "gate/endpoint_list.h"
#include "lifecycle/endpoint.h"
#include "lifecycle/evidence.h"
#include "lifecycle/hold_queue.h"
#include "lifecycle/idle_budget.h"
#include "lifecycle/idle_limit.h"
#include "lifecycle/retry_budget.h"
#include "lifecycle/surprise.h"
#include "lifecycle/verdict.h"
#include "wire/opaque_token.h"

namespace ebb::gate {

// Longer than any slow start.
inline constexpr base::Instant long_ago{-std::chrono::hours{24 * 365}};

struct CheckTarget;

struct LiveEndpoint {
  base::Handle self;
  base::Handle view;  // of its backend
  std::uint64_t identity = 0;
  base::Address address;
  base::Label label = 0;
  std::uint32_t weight = 1;
  lifecycle::Membership membership = lifecycle::Membership::present;
  lifecycle::Wish wish = lifecycle::Wish::ready;
  lifecycle::Health health = lifecycle::Health::up;
  base::Cause why = base::Cause::none;  // of its health
  base::Instant health_since{};
  base::WallTime since{};                    // when one of the three changed
  std::uint64_t listing = 0;                 // the change of its list that it was last seen in
  std::int64_t credit = 0;                   // of turns (gate/choice)
  base::Instant warm_since = long_ago;       // its share grows from then on
  std::optional<wire::OpaqueToken> token{};  // in the cookies of clients that are bound to it, once one was asked for
  std::uint32_t active = 0;                  // exchanges and flows that use it
  std::uint32_t witnesses = 0;               // of them; they have no place of a client (gate/witnesses)
  std::shared_ptr<SharedLimit> limit{};      // of the others, on all workers; has counted them
  std::uint32_t connections = 0;             // open or opening
  std::uint32_t idle = 0;                    // of them, in the pool
  base::List<BackendConnection, IdleTag> pool{};     // front: used last
  lifecycle::IdleBudget idle_budget{};               // of the pool
  std::vector<base::Handle> multiplexed{};           // connections that speak HTTP/2, or are to
  bool speaks_h2 = false;                            // `auto`: what the last handshake has agreed on
  std::uint32_t manner = 0;                          // of the connections that are lent: BackendView::manner_number
  lifecycle::IdleLimit idle_limit{};                 // how long it keeps the connections of the pool
  base::Instant drain_until = base::Instant::max();  // while it drains
  base::Instant bound_until =
      base::Instant::max();  // then clients that it may keep move, so that none is cut by the above
  base::Timer drain_timer;   // armed while it has work that it must end
  std::vector<std::move_only_function<void()>> when_idle{};
  EndpointTally tally{};
  lifecycle::Evidence evidence{};  // gate/health, as the rest
  base::Instant heard{};           // when a byte of it last came, as far as was looked
  lifecycle::Overtaking order{};   // of its answers
  lifecycle::Doubt doubt = lifecycle::Doubt::none;
  base::Instant silent_since{};    // where it is doubted
  bool siblings_answer = false;    // what it lets wait; not known where only checks or PINGs have told
  base::Instant siblings_asked{};  // when a request of it was asked elsewhere, to know whether they answer
  base::Instant confirmed_at{};    // where that is confirmed
  base::Duration survived{};       // its longest silence that was confirmed and ended by an answer, of those lately
  base::Instant survived_until{};  // how long that is remembered

  std::uint32_t clients() const { return active - witnesses; }
  bool draining() const { return lifecycle::draining(membership, wish); }
  lifecycle::EndpointFactsOfLife life() const { return {membership, wish, health, why}; }
  lifecycle::Standing standing() const { return lifecycle::standing(life()); }
  // Why its connections close while it drains.
  base::Cause drain_cause() const {
    const bool gone = membership == lifecycle::Membership::gone;
    return gone ? base::Cause::endpoint_gone : base::Cause::endpoint_draining;
  }
};

// All that makes a connection what it is, besides its address. Connections of another manner are not lent.
struct Manner {
  std::string tls;  // wire::ClientContext::fingerprint(); "": plain
  routes::BackendProtocol protocol = routes::BackendProtocol::http1;
  routes::ProxyProtocol proxy_protocol = routes::ProxyProtocol::off;
  friend bool operator==(const Manner&, const Manner&) = default;
};

// One backend in this worker.
struct BackendView {
  std::string name;
  std::vector<base::Handle> endpoints;  // in the order of the list; those that are gone are not in it
  std::vector<Candidate> candidates;    // of the last choice; kept for its room
  std::size_t members = 0;              // endpoints that refer to it, those that are gone too
  bool listed = true;                   // by the current snapshot
  routes::EndpointLimitsModel limits;
  routes::EvidenceModel evidence;
  base::Duration drain_deadline{};
  bool sticky = false;
  Manner manner;
  std::uint32_t manner_number = 0;           // counts its changes
  std::shared_ptr<const CheckTarget> check;  // null: its endpoints are not checked
  lifecycle::HoldQueue queue;
  lifecycle::RetryBudget retry_budget;
  std::uint64_t held_ever = 0;
  std::uint64_t hold_timeouts = 0;
};

class Endpoints {
 public:
  explicit Endpoints(Core& core) : core_(core) {}

  // Takes the lists of a new snapshot and fills in its views. Endpoints that are not listed any more drain.
  void enter(LocalSnapshot& snapshot);
  // One backend's list alone; false if no backend has that name.
  bool change(const EndpointList& list);
  // `condemn`: it is proven dead, so that all that is open to it fails now.
  void set_health(std::uint64_t identity, lifecycle::Health health, base::Cause why, bool condemn);
  // Tells once, when nothing here uses the endpoint; at once if so.
  void tell_when_idle(std::uint64_t identity, std::move_only_function<void()> callback);

  LiveEndpoint* find(base::Handle handle) { return endpoints_.find(handle); }
  LiveEndpoint* find_identity(std::uint64_t identity);
  BackendView* find_view(base::Handle handle) { return views_.find(handle); }
  BackendView& view(base::Handle handle) { return *views_.find(handle); }
  // Whether any endpoint could take a request now.
  bool has_room(const BackendView& view);
  bool has_room(const LiveEndpoint& endpoint) const;
  bool full(const LiveEndpoint& endpoint) const;  // with its witnesses, which give way

  // False: another worker has just taken the last place that there was for all of them.
  bool attach(LiveEndpoint& endpoint);
  // Witnesses have no place: one that a client needs ends.
  void attach_witness(LiveEndpoint& endpoint);
  enum class Work : bool { of_client, of_witness };
  void detach(base::Handle handle, Work work = Work::of_client);
  // Drops the endpoint if it has left and nothing refers to it any more.
  void settle(base::Handle handle);
  void on_timer(base::Handle endpoint);  // of a drain
  // Ends the work that the endpoint has. While it drains, receipts say how much that was.
  void end_work(base::Handle endpoint, base::Cause cause);
  // Views that no snapshot names, when nothing refers to them; only while no old snapshot is alive.
  void forget_unlisted_views();

  // Counts every change of a list or of an axis.
  std::uint64_t version() const { return version_; }
  // Views whose requests should look again for an endpoint.
  std::vector<base::Handle> take_woken() { return std::exchange(woken_, {}); }
  bool any_woken() const { return !woken_.empty(); }
  void wake(base::Handle view);
  void wake_identity(std::uint64_t identity);  // for its backend: it has room again

  std::vector<EndpointFacts> facts();
  std::vector<BackendFacts> backend_facts();
  InFlight in_flight(std::uint64_t identity);
  std::size_t size() const { return endpoints_.size(); }
  std::size_t held() const;  // requests, of all backends

 private:
  base::Handle view_named(const std::string& name);
  void take_list(base::Handle view, const EndpointList& list);
  void take_manner(BackendView& view, const LocalSnapshot& snapshot, std::uint32_t backend);
  void begin_anew(LiveEndpoint& endpoint);  // it had left, with work that it still has
  void leave(base::Handle endpoint);
  void drain_or_not(LiveEndpoint& endpoint, bool was_draining);
  void note_change(LiveEndpoint& endpoint);
  void arm_drain(LiveEndpoint& endpoint);
  void change_limit(LiveEndpoint& endpoint, const std::shared_ptr<SharedLimit>& limit);
  void end_witnesses_for_room(const LiveEndpoint& endpoint);
  void give_back(SharedLimit& limit, const LiveEndpoint& endpoint, std::uint32_t places);

  Core& core_;
  base::SlotMap<LiveEndpoint> endpoints_;
  base::SlotMap<BackendView> views_;
  std::unordered_map<std::uint64_t, base::Handle> by_identity_;
  std::unordered_map<std::string, base::Handle> by_name_;
  std::vector<base::Handle> woken_;
  std::uint64_t version_ = 0;
  std::vector<base::Handle> unlisted_;  // views
  // Work that was cut, by endpoint that drains or has drained; outlives those that are gone, for their receipts.
  std::unordered_map<std::uint64_t, std::uint32_t> cut_;
};

}  // namespace ebb::gate
