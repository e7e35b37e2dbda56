// The worker's book, for the self-audit. What it says of one socket is of one moment, since a step runs between events;
// the whole is not, since the world goes on between the steps.
#include "gate/worker.h"

namespace ebb::gate {

using base::Handle;
using base::Owner;
using observe::ClaimKind;
using reactor::Holding;

namespace {

constexpr std::uint32_t at_once = reactor::holdings_at_once;

}  // namespace

bool Worker::read_book(BookCursor& cursor, observe::Claims& out) {
  if (cursor.part == 0) {
    if (!read_holdings(cursor, out)) cursor.part = 1;
    return true;
  }
  cursor.slot = read_connections(cursor, out);
  if (cursor.slot == 0) cursor.part += 1;
  return cursor.part <= 5;
}

bool Worker::read_holdings(BookCursor& cursor, observe::Claims& out) {
  reactor::Holdings holdings;
  holdings.reserve(at_once);
  const bool more = core_.reactor.read_holdings(cursor.holdings, holdings);
  out.reserve(out.size() + holdings.size());
  for (const Holding& holding : holdings) out.push_back(claim_of(holding, kind_of(holding), owns(holding)));
  return more;
}

// From the other side: only what is wrong is written down.
std::uint32_t Worker::read_connections(const BookCursor& cursor, observe::Claims& out) {
  const auto check = [&](ClaimKind kind, auto socket, Owner owner) {
    if (!core_.reactor.holds(socket, owner)) out.push_back(claim_without_socket(kind, socket, owner));
  };
  switch (cursor.part) {
    case 1:
      return clients_.for_some(cursor.slot, at_once, [&](Handle handle, const ClientConnection& client) {
        if (!client.life.ended()) check(ClaimKind::client, client.socket, {owner_client, handle});
      });
    case 2:
      return backends_.for_some(cursor.slot, at_once, [&](Handle handle, const BackendConnection& connection) {
        if (!connection.life.ended()) check(ClaimKind::backend, connection.socket, {owner_backend, handle});
      });
    case 3:
      return health_.probes().for_some(cursor.slot, at_once, [&](Handle handle, reactor::SocketId socket) {
        check(ClaimKind::probe, socket, {owner_health, handle});
      });
    case 4:
      return checks_.for_some_sockets(cursor.slot, at_once, [&](Handle handle, reactor::SocketId socket) {
        check(ClaimKind::check, socket, {owner_check, handle});
      });
    default:
      return datagrams_.for_some_sockets(cursor.slot, at_once, [&](Owner owner, reactor::DatagramSocketId socket) {
        check(owner.kind == owner_flow ? ClaimKind::flow : ClaimKind::listener, socket, owner);
      });
  }
}

bool Worker::owns(const Holding& holding) {
  const Handle handle = holding.owner.handle;
  switch (holding.owner.kind) {
    case owner_listener: {
      const std::shared_ptr<OpenListener>* listener = listeners_.find(handle);
      return listener != nullptr && (*listener)->id == holding.socket;
    }
    case owner_client: {
      const ClientConnection* client = clients_.find(handle);
      return client != nullptr && !client->life.ended() && client->socket == holding.socket;
    }
    case owner_backend: {
      const BackendConnection* connection = backends_.find(handle);
      return connection != nullptr && !connection->life.ended() && connection->socket == holding.socket;
    }
    case owner_health: return health_.probes().owns(handle, reactor::SocketId(holding.socket));
    case owner_check: return checks_.owns(handle, reactor::SocketId(holding.socket));
    case owner_datagrams:
    case owner_flow: return datagrams_.owns(holding.owner, reactor::DatagramSocketId(holding.socket));
    default: return false;
  }
}

ClaimKind Worker::kind_of(const Holding& holding) {
  switch (holding.owner.kind) {
    case owner_client: {
      const ClientConnection* client = clients_.find(holding.owner.handle);
      const bool tunnels = client != nullptr && client->life.is(lifecycle::ClientConnectionLife::State::tunnelling);
      return tunnels ? ClaimKind::tunnel : ClaimKind::client;
    }
    case owner_backend: return ClaimKind::backend;
    case owner_health: return ClaimKind::probe;
    case owner_check: return ClaimKind::check;
    case owner_flow: return ClaimKind::flow;
    default: return ClaimKind::listener;
  }
}

observe::SocketHistory Worker::tell(const observe::Claim& claim) {
  const base::Instant now = core_.reactor.now();
  observe::SocketHistory told;
  if (claim.opened != base::Instant{}) told.age = now - claim.opened;
  const auto add_endpoint = [&](const LiveEndpoint* endpoint) {
    if (endpoint == nullptr) return;
    told.whose = endpoints_.view(endpoint->view).name + "/" + std::string(core_.labels.text(endpoint->label));
    told.peer = endpoint->address;
  };
  const Handle handle = claim.owner.handle;
  switch (claim.owner.kind) {
    case owner_listener:
      if (const std::shared_ptr<OpenListener>* listener = listeners_.find(handle)) {
        told.whose = (*listener)->model.name;
      }
      break;
    case owner_client:
      if (const ClientConnection* client = clients_.find(handle)) {
        told = {client->listener->model.name, client->peer, client->life.name(), now - client->opened};
      }
      break;
    case owner_backend:
      if (const BackendConnection* connection = backends_.find(handle)) {
        told.state = connection->life.name();
        add_endpoint(endpoints_.find(connection->endpoint));
      }
      break;
    case owner_health: add_endpoint(endpoints_.find_identity(health_.probes().probed(handle))); break;
    case owner_check: add_endpoint(endpoints_.find_identity(checks_.checked(handle))); break;
    case owner_flow:
      if (const Flow* flow = datagrams_.find(handle)) {
        add_endpoint(endpoints_.find(flow->path.endpoint));
        told.state = flow->life.name();
        told.age = now - flow->started;
      }
      break;
    default: break;
  }
  return told;
}

}  // namespace ebb::gate
