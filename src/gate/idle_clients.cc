#include "gate/idle_clients.h"

#include "gate/clients.h"

namespace ebb::gate {

using base::Handle;

namespace {

using Waiting = base::ListNode<WaitingTag>;
using SameClient = base::ListNode<SameClientTag>;

}  // namespace

// Here, where it is known what a ClientConnection is.
WaitingClients::WaitingClients() = default;
WaitingClients::~WaitingClients() = default;
IdleClients::Group::Group() = default;
IdleClients::Group::~Group() = default;
IdleClients::IdleClients(std::uint64_t seed) : groups_by_client_(0, Hash{seed}) {}
IdleClients::~IdleClients() = default;

IdleClients::Group& IdleClients::group_of(ClientConnection& client) {
  if (Group* known = groups_.find(client.idle_group)) return *known;
  const routes::ClientNetwork network = routes::ClientNetwork::of(client.peer);
  Handle& handle = groups_by_client_[network];
  if (groups_.find(handle) == nullptr) {
    handle = groups_.emplace();
    groups_.find(handle)->network = network;
  }
  client.idle_group = handle;
  Group& group = *groups_.find(handle);
  group.members += 1;
  return group;
}

Handle IdleClients::enter(ClientConnection& client, base::Instant now, const Limits& limits) {
  leave(client);
  const std::shared_ptr<WaitingClients>& waiting = client.listener->waiting;
  if (!std::exchange(waiting->known, true)) {
    std::erase_if(listeners_, [](const std::weak_ptr<WaitingClients>& known) { return known.expired(); });
    listeners_.push_back(waiting);
  }
  Group& group = group_of(client);
  client.idle_since = now;
  waiting->list.push_back(client);
  waiting->count += 1;
  group.list.push_back(client);
  group.count += 1;
  count_ += 1;
  if (limits.client > 0 && group.count > limits.client) return group.list.front()->self;
  if (limits.listener > 0 && waiting->count > limits.listener) return waiting->list.front()->self;
  return limits.all > 0 && count_ > limits.all ? longest() : Handle{};
}

Handle IdleClients::longest() {
  const ClientConnection* oldest = nullptr;
  for (const std::weak_ptr<WaitingClients>& known : listeners_) {
    const std::shared_ptr<WaitingClients> waiting = known.lock();
    const ClientConnection* first = waiting == nullptr ? nullptr : waiting->list.front();
    if (first != nullptr && (oldest == nullptr || first->idle_since < oldest->idle_since)) oldest = first;
  }
  return oldest == nullptr ? Handle{} : oldest->self;
}

void IdleClients::leave(ClientConnection& client) {
  if (!client.Waiting::linked()) return;
  client.Waiting::unlink();
  client.SameClient::unlink();
  client.listener->waiting->count -= 1;
  groups_.find(client.idle_group)->count -= 1;
  count_ -= 1;
}

void IdleClients::forget(ClientConnection& client) {
  leave(client);
  Group* group = groups_.find(client.idle_group);
  if (group == nullptr || --group->members > 0) return;
  groups_by_client_.erase(group->network);
  groups_.erase(client.idle_group);
}

}  // namespace ebb::gate
