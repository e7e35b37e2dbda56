// Client connections that wait for their next request: how many may, in all, at one listener and from one client
// address. The one that has waited longest goes first. A prober that opens a connection per probe and never closes one
// is held to its share, whatever the idle time-out.
//
// Owned by gate/clients, which closes what is named here. A connection's place is made when it first waits under a
// limit and then kept: nothing is allocated per request, and nothing at all where nothing is limited.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/list.h"
#include "base/slot_map.h"
#include "routes/client_network.h"
#include "routes/model.h"

namespace ebb::gate {

struct ClientConnection;
struct SameListener;
struct SameClient;

// One connection's place in both lists; linked while it waits.
struct WaitingClient : base::ListNode<SameListener>, base::ListNode<SameClient> {
  base::Handle connection;
  base::Handle group;
  base::Instant since{};
};

// Of one listener: front has waited longest.
struct WaitingClients {
  base::List<WaitingClient, SameListener> list;
  std::uint32_t count = 0;
  bool known = false;  // to IdleClients
};

class IdleClients {
 public:
  explicit IdleClients(std::uint64_t seed) : groups_by_client_(0, Hash{seed}) {}

  // Limits of this worker; 0: none.
  struct Limits {
    std::uint32_t all = 0;
    std::uint32_t listener = 0;
    std::uint32_t client = 0;

    bool any() const { return all > 0 || listener > 0 || client > 0; }
  };

  // The connection waits from now on. Whoever must go for it is returned, or an invalid handle.
  base::Handle enter(ClientConnection& client, base::Instant now, const Limits& limits);
  void leave(ClientConnection& client);   // it has work again
  void forget(ClientConnection& client);  // it is over
  std::size_t size() const { return count_; }

 private:
  // All connections of one client that ever waited; those that wait are linked.
  struct Group {
    routes::ClientNetwork network;
    base::List<WaitingClient, SameClient> list;
    std::uint32_t count = 0;
    std::uint32_t members = 0;
  };
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const routes::ClientNetwork& network) const { return network.hash(seed); }
  };
  WaitingClient& place_of(ClientConnection& client);
  base::Handle longest();

  base::SlotMap<Group> groups_;
  std::unordered_map<routes::ClientNetwork, base::Handle, Hash> groups_by_client_;
  std::vector<std::weak_ptr<WaitingClients>> listeners_;
  std::size_t count_ = 0;
};

}  // namespace ebb::gate
