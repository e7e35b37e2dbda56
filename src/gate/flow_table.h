// The flows that one worker knows, found by who talks to whom and in the order of their last use. Owns the flows and
// nothing else: sockets and endpoints are gate/datagrams' business, which also says how many there may be.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <vector>

#include "base/address.h"
#include "base/cause.h"
#include "base/clock.h"
#include "base/labels.h"
#include "base/list.h"
#include "base/slot_map.h"
#include "base/timer_wheel.h"
#include "lifecycle/flow.h"
#include "reactor/reactor.h"

namespace ebb::gate {

struct FlowKey {
  base::Handle listener;
  base::Address client;
  base::Address local;  // the same client may talk to several of our addresses
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
};

// A way to an endpoint.
struct FlowPath {
  reactor::DatagramSocketId socket;  // names nothing: there is no path
  base::Handle endpoint;
};

struct Flow : base::ListNode<> {  // linked: in the order of use
  explicit Flow(const FlowKey& of) : key(of) {}

  base::Handle self;
  FlowKey key;
  lifecycle::FlowMachine life;
  base::Timer timer;
  FlowPath path;
  FlowPath former;                          // only for the answers that were on their way when the flow moved
  base::Handle refused_by;                  // asked again only if there is no other
  base::Cause trouble = base::Cause::none;  // why it has no path
  bool owed = false;                        // the last datagram was the client's
  std::uint16_t paths_used = 0;
  std::uint64_t version = 0;  // of the endpoints that its path was last held against
  base::Label backend = 0;
  std::uint64_t bytes_received = 0;  // from the client
  std::uint64_t bytes_sent = 0;
  base::Instant started;
  base::WallTime started_wall;
  base::Duration until_answer{};
};

class FlowTable {
 public:
  // Clients choose their addresses; the seed keeps them from choosing a place in the table.
  explicit FlowTable(std::uint64_t seed) : by_key_(0, Hash{seed}) {}

  Flow& add(const FlowKey& key);  // that is not there yet; used last
  Flow* find(const FlowKey& key);
  Flow* find(base::Handle handle) { return flows_.find(handle); }
  void use(Flow& flow);
  Flow* least_recently_used() { return by_use_.front(); }
  void erase(base::Handle handle);

  std::size_t size() const { return flows_.size(); }
  std::vector<base::Handle> all() const;
  std::vector<base::Handle> of_listener(base::Handle listener) const;
  template <class Callback>
  void for_each(Callback&& callback) const {
    flows_.for_each(callback);
  }
  template <class Callback>
  std::uint32_t for_some(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return flows_.for_some(from, most, callback);
  }

 private:
  struct Hash {
    using is_avalanching = void;
    std::uint64_t seed;
    std::size_t operator()(const FlowKey& key) const;
  };

  base::SlotMap<Flow> flows_;
  base::List<Flow> by_use_;
  boost::unordered_flat_map<FlowKey, base::Handle, Hash> by_key_;
};

}  // namespace ebb::gate
