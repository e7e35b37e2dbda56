// The datagram sockets of a simulated reactor; see sim_reactor.h.
#include "sim/sim_reactor.h"

namespace ebb::sim {

using reactor::DatagramSent;
using reactor::DatagramSocketId;
using reactor::Owner;

DatagramSocketId SimReactor::add_datagrams(const base::Address& local, const base::Address& peer, Owner owner) {
  const DatagramSocketId id(datagram_sockets_.emplace());
  DatagramSocket& socket = *datagram_sockets_.find(id);
  socket.self = id;
  socket.local = local;
  socket.peer = peer;
  socket.owner = owner;
  socket.bound =
      datagrams_->bind(local, {.came =
                                   [this, id, alive = alive_](const DatagramNetwork::Came& came) {
                                     DatagramSocket* found = *alive ? datagram_sockets_.find(id) : nullptr;
                                     if (found == nullptr || (found->peer.valid() && !(found->peer == came.from)))
                                       return;
                                     found->came.push_back(came);
                                     schedule_round();
                                   },
                               .refused =
                                   [this, id, alive = alive_] {
                                     DatagramSocket* found = *alive ? datagram_sockets_.find(id) : nullptr;
                                     if (found == nullptr) return;
                                     found->refused = true;
                                     schedule_round();
                                   }});
  return id;
}

base::Result<DatagramSocketId> SimReactor::bind_datagrams(const base::Address& address, Owner owner) {
  if (datagrams_ == nullptr) return base::fail(base::Cause::internal, "datagrams are not in this network");
  return add_datagrams(address, {}, owner);
}

base::Result<DatagramSocketId> SimReactor::connect_datagrams(const base::Address& peer, Owner owner) {
  if (datagrams_ == nullptr) return base::fail(base::Cause::internal, "datagrams are not in this network");
  base::Address local = host_;
  local.set_port(static_cast<std::uint16_t>(20000 + number_ * 10000 + next_port_++ % 10000));
  return add_datagrams(local, peer, owner);
}

DatagramSent SimReactor::send_datagram(DatagramSocketId id, std::string_view bytes) {
  DatagramSocket* socket = datagram_sockets_.find(id);
  if (socket == nullptr || !socket->peer.valid()) {
    contract("send_datagram on a closed or unconnected socket");
    return DatagramSent::dropped;
  }
  if (std::exchange(socket->refused, false)) return DatagramSent::unreachable;
  datagrams_->send(socket->bound, socket->local, socket->peer, bytes);
  return DatagramSent::sent;
}

DatagramSent SimReactor::answer_datagram(DatagramSocketId id, std::string_view bytes, const base::Address& to,
                                         const base::Address& from) {
  DatagramSocket* socket = datagram_sockets_.find(id);
  if (socket == nullptr || socket->peer.valid()) {
    contract("answer_datagram on a closed or connected socket");
    return DatagramSent::dropped;
  }
  datagrams_->send(socket->bound, from, to, bytes);
  return DatagramSent::sent;
}

base::Address SimReactor::datagram_address(DatagramSocketId id) const {
  const DatagramSocket* socket = datagram_sockets_.find(id);
  return socket == nullptr ? base::Address() : socket->local;
}

void SimReactor::close_datagrams(DatagramSocketId id) {
  const DatagramSocket* socket = datagram_sockets_.find(id);
  if (socket == nullptr) return contract("close_datagrams on a closed socket");
  datagrams_->close(socket->bound);
  datagram_sockets_.erase(id);
}

bool SimReactor::holds(DatagramSocketId id, Owner owner) const {
  const DatagramSocket* socket = datagram_sockets_.find(id);
  return socket != nullptr && socket->owner == owner;
}

void SimReactor::serve_datagrams() {
  std::vector<DatagramSocketId> all;
  datagram_sockets_.for_each([&all](base::Handle handle, const DatagramSocket& socket) {
    if (!socket.came.empty() || socket.refused) all.emplace_back(handle);
  });
  for (const DatagramSocketId id : all) {
    DatagramSocket* socket = datagram_sockets_.find(id);
    if (socket == nullptr) continue;
    if (std::exchange(socket->refused, false)) {
      const base::Error error{.cause = base::Cause::backend_refused, .sys = ECONNREFUSED};
      handler_->on_unreachable(socket->owner, id, error);
    }
    for (;;) {
      socket = datagram_sockets_.find(id);
      if (socket == nullptr || socket->came.empty()) break;
      const DatagramNetwork::Came came = std::move(socket->came.front());
      socket->came.pop_front();
      handler_->on_datagram(socket->owner, {.socket = id, .peer = came.from, .local = came.to, .bytes = came.bytes});
    }
  }
}

}  // namespace ebb::sim
