// All exchanges of a worker: makes them, carries out what their machines ask for, ends them, buries them. What happens
// in between is done by the parts of the gate that a request passes, in this order:
//
//   intake         the head: its route, the route's policy (gate/admission, bonds, request_head)
//   attempts       an endpoint, a connection to it, a retry (gate/balance, holding, moves)
//   request_path   the request to the endpoint
//   response_path  the answer to the client, or tunnel: bytes both ways
//   deadlines      how long each of these may take
#pragma once

#include <vector>

#include "gate/exchange.h"
#include "lifecycle/ending.h"

namespace ebb::gate {

class Exchanges {
 public:
  explicit Exchanges(Core& core) : core_(core) {}

  Exchange& add(Front& front, base::Handle client, const SnapshotRef& snapshot);
  // nullptr: it has ended, or is gone.
  Exchange* live(base::Handle handle) {
    Exchange* exchange = exchanges_.find(handle);
    return exchange == nullptr || exchange->life.ended() ? nullptr : exchange;
  }
  const Exchange* find(base::Handle handle) const { return exchanges_.find(handle); }

  // The event, and what its row asks for.
  void step(Exchange& exchange, lifecycle::ExchangeLife::Event event);
  // The same for a half or the attempt, whose rows ask for nothing.
  template <class Machine>
  void step(Exchange& exchange, Machine& machine, typename Machine::Event event) {
    if (!machine.step(event)) broken_.add(core_, exchange.self);
  }

  // Its end, whatever the reason: both sides are told (lifecycle/ending.h) and it is recorded. The only way to end one.
  void finish(Exchange& exchange, base::Cause cause, lifecycle::ClientSide client = lifecycle::ClientSide::waits);
  void on_client_left(base::Handle exchange, base::Cause cause);
  // `half_closes`: such a client may still wait for its answer.
  void on_client_finished(base::Handle exchange, bool half_closes);
  bool ends_with_client(base::Handle exchange);  // it is not, and will not be, a tunnel whose halves end apart

  // What the client may hold of the worker's buffers for this exchange, in each direction.
  std::size_t share(const Exchange& exchange) const {
    return core_.reactor.blocks().share() / exchange.front->sharing(exchange.client);
  }
  // More waits at the end of the way than may. Looking sends what it can, which may end the exchange.
  bool stuck(const Exchange& exchange, const Way& way) const {
    return way.to.unsent(way.to_end) > 0 && way.to.stuck(way.to_end, share(exchange));
  }

  // Those whose machine had no row for what happened.
  bool end_broken();  // false: there were none
  void bury();
  std::size_t size() const { return exchanges_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    exchanges_.for_each(callback);
  }
  template <class Which>
  std::vector<base::Handle> those(Which&& which) const {
    std::vector<base::Handle> all;
    exchanges_.for_each([&](base::Handle handle, const Exchange& exchange) {
      if (!exchange.life.ended() && which(exchange)) all.push_back(handle);
    });
    return all;
  }

 private:
  void perform(Exchange& exchange, lifecycle::ExchangeMachine::Actions actions);
  bool gives_up(const Exchange& exchange, base::Cause cause, lifecycle::ClientSide client) const;
  void tell_backend(Exchange& exchange, lifecycle::ToBackend how, base::Cause cause);
  bool add_late_trailers(Exchange& exchange, base::Cause cause);
  void answer(Exchange& exchange, base::Cause cause);

  Core& core_;
  base::SlotMap<Exchange> exchanges_;
  Broken broken_;
  std::vector<base::Handle> dead_;
};

}  // namespace ebb::gate
