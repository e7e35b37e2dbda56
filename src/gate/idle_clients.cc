#include "gate/idle_clients.h"

#include "gate/clients.h"

namespace ebb::gate {

using base::Handle;

WaitingClient& IdleClients::place_of(ClientConnection& client) {
  if (client.waiting) return *client.waiting;
  const routes::ClientNetwork network = routes::ClientNetwork::of(client.peer);
  Handle& handle = groups_by_client_[network];
  if (groups_.find(handle) == nullptr) {
    handle = groups_.emplace();
    groups_.find(handle)->network = network;
  }
  groups_.find(handle)->members += 1;
  client.waiting = std::make_unique<WaitingClient>();
  client.waiting->connection = client.self;
  client.waiting->group = handle;
  return *client.waiting;
}

Handle IdleClients::enter(ClientConnection& client, base::Instant now, const Limits& limits) {
  leave(client);
  const std::shared_ptr<WaitingClients>& waiting = client.listener->waiting;
  if (!std::exchange(waiting->known, true)) {
    std::erase_if(listeners_, [](const std::weak_ptr<WaitingClients>& known) { return known.expired(); });
    listeners_.push_back(waiting);
  }
  WaitingClient& place = place_of(client);
  Group& group = *groups_.find(place.group);
  place.since = now;
  waiting->list.push_back(place);
  waiting->count += 1;
  group.list.push_back(place);
  group.count += 1;
  count_ += 1;
  if (limits.client > 0 && group.count > limits.client) return group.list.front()->connection;
  if (limits.listener > 0 && waiting->count > limits.listener) return waiting->list.front()->connection;
  return limits.all > 0 && count_ > limits.all ? longest() : Handle{};
}

Handle IdleClients::longest() {
  const WaitingClient* oldest = nullptr;
  for (const std::weak_ptr<WaitingClients>& known : listeners_) {
    const std::shared_ptr<WaitingClients> waiting = known.lock();
    const WaitingClient* first = waiting == nullptr ? nullptr : waiting->list.front();
    if (first != nullptr && (oldest == nullptr || first->since < oldest->since)) oldest = first;
  }
  return oldest == nullptr ? Handle{} : oldest->connection;
}

void IdleClients::leave(ClientConnection& client) {
  WaitingClient* place = client.waiting.get();
  if (place == nullptr || !place->base::ListNode<SameListener>::linked()) return;
  place->base::ListNode<SameListener>::unlink();
  place->base::ListNode<SameClient>::unlink();
  client.listener->waiting->count -= 1;
  groups_.find(place->group)->count -= 1;
  count_ -= 1;
}

void IdleClients::forget(ClientConnection& client) {
  if (!client.waiting) return;
  leave(client);
  const Handle handle = client.waiting->group;
  client.waiting.reset();
  Group& group = *groups_.find(handle);
  if (--group.members > 0) return;
  groups_by_client_.erase(group.network);
  groups_.erase(handle);
}

}  // namespace ebb::gate
