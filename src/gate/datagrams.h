// Listeners of datagrams, and the flows that come in by them. A flow is one client at one of our addresses: its
// datagrams go to one endpoint over a socket of its own, so that each answer finds its way back. A datagram protocol
// has no connection to lose: where an endpoint leaves or refuses, the flow's next datagram goes to another.
//
// Before: the reactor. Next: gate/balance, then the reactor again; nothing looks into the bytes.
#pragma once

#include <string>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/flow_table.h"

namespace ebb::gate {

// Of one worker, each with a descriptor; the one used least recently makes room.
inline constexpr std::size_t flows_most = 16384;

// With the listener, its address and the reason.
std::string cannot_open(const routes::ListenerModel& listener, const base::Error& error);

class Datagrams {
 public:
  explicit Datagrams(Core& core) : core_(core), flows_(core.random.next()) {}

  // By difference: a listener that stays keeps its socket and its flows. Those that are new are opened before; what
  // cannot be opened comes back in words.
  void prepare_listeners(const routes::Snapshot& next, std::vector<std::string>& problems);
  void abandon_listeners();
  void change_listeners(const LocalSnapshot& snapshot);

  void on_datagram(base::Owner owner, const reactor::Datagram& datagram);
  void on_unreachable(base::Handle flow, reactor::DatagramSocketId socket, base::Cause cause);
  void on_timer(base::Handle flow);

  // Takes nothing more from clients; flows to which an answer is owed wait a little for it.
  void drain();
  void close_all(base::Cause cause);
  // Flows that still use the endpoint; a client that goes on begins a new one. How many.
  std::uint32_t end_of_endpoint(base::Handle endpoint, base::Cause cause);
  // Those whose machine had no row for what happened.
  void end_broken();

  std::size_t size() const { return flows_.size(); }
  std::size_t without_deadline() const;

  // For the book: whether it is a listener's or a flow's; and the same from the other side.
  bool owns(base::Owner owner, reactor::DatagramSocketId socket);
  const Flow* find(base::Handle flow) { return flows_.find(flow); }
  template <class Callback>  // (owner, socket)
  std::uint32_t for_some_sockets(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    if (from == 0) {
      listeners_.for_each([&callback](base::Handle handle, const Listener& listener) {
        callback(base::Owner{owner_datagrams, handle}, listener.socket);
      });
    }
    return flows_.for_some(from, most, [&callback](base::Handle handle, const Flow& flow) {
      if (flow.path.socket) callback(base::Owner{owner_flow, handle}, flow.path.socket);
      if (flow.former.socket) callback(base::Owner{owner_flow, handle}, flow.former.socket);
    });
  }

 private:
  struct Listener {
    base::Address bind;
    base::Label label = 0;
    std::uint32_t backend = routes::no_backend;  // of the current snapshot
    reactor::DatagramSocketId socket;
    bool prepared = false;  // for a configuration that is not applied yet: a wider one may serve what it gets
  };
  using Event = lifecycle::FlowLife::Event;
  using State = lifecycle::FlowLife::State;

  void prepare_listener(const routes::ListenerModel& wanted, std::vector<std::string>& problems);
  void close_listener(base::Handle handle);
  void close_listeners();
  std::vector<base::Handle> listeners(bool prepared) const;
  std::vector<base::Handle> open_listeners() const { return listeners(false); }
  // The open one that would get its datagrams, if no socket were bound to the address itself.
  base::Handle covering(const base::Address& address) const;

  void from_client(base::Handle listener, const reactor::Datagram& datagram);
  void from_endpoint(base::Handle flow, const reactor::Datagram& datagram);
  Flow& begin(const FlowKey& key);
  void keep_alive(Flow& flow, const Listener& listener);
  void pass_on(Flow& flow, const Listener& listener, std::string_view bytes);

  // True: the flow has a path that suits the current configuration.
  bool place(Flow& flow, const Listener& listener);
  bool path_suits(const Flow& flow, const BackendView& view);
  base::Handle choose(const Flow& flow, BackendView& view, const routes::BackendModel& model);
  bool open_path(Flow& flow, base::Handle endpoint, const routes::Backend& backend);
  void withdraw(Flow& flow);
  void refuse(Flow& flow, base::Cause cause);
  void close_path(FlowPath& path);

  void step(Flow& flow, Event event);
  void end(Flow& flow, Event event, base::Cause cause);
  void finish(Flow& flow, Event event, base::Cause cause);
  void record(const Flow& flow, base::Cause cause);
  const routes::Backend& backend_of(const Listener& listener) const {
    return core_.current->snapshot().backends()[listener.backend];
  }

  Core& core_;
  base::SlotMap<Listener> listeners_;
  FlowTable flows_;
  Broken broken_;
};

}  // namespace ebb::gate
