// Datagram sockets, the same for both reactors: they are in an epoll set of their own, whose descriptor the reactor
// watches like any other. Owned by the Loop. Receives and sends are direct calls, many datagrams per receive. The set
// is level-triggered: a socket with more to read than its turn allows shows up again in the next round.
#pragma once

#include <sys/socket.h>

#include <memory>

#include "base/slot_map.h"
#include "reactor/descriptor.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

class Datagrams {
 public:
  explicit Datagrams(Counters& counters);
  ~Datagrams();

  // Readable while any socket has something to tell; negative if it could not be made.
  int descriptor() const { return set_.get(); }
  void serve(Handler& handler);

  base::Result<DatagramSocketId> bind(const base::Address& address, Owner owner);
  base::Result<DatagramSocketId> connect(const base::Address& peer, Owner owner);
  DatagramSent send(DatagramSocketId id, std::string_view bytes);
  DatagramSent answer(DatagramSocketId id, std::string_view bytes, const base::Address& to, const base::Address& from);
  base::Address local_address(DatagramSocketId id) const;
  void close(DatagramSocketId id) { sockets_.erase(id); }
  bool holds(DatagramSocketId id, Owner owner) const {
    const Socket* socket = sockets_.find(id);
    return socket != nullptr && socket->owner == owner;
  }
  std::uint32_t list(std::uint32_t from, Holdings& out);  // as Loop::list_sockets()

 private:
  struct Socket {
    Descriptor descriptor;
    Owner owner;
    base::Address local;        // as bound
    base::Address peer;         // of a connected one
    std::uint32_t dropped = 0;  // by the kernel, as it last told
    std::uint64_t inode = 0;    // as list() first found it
  };
  struct Batch;

  base::Result<DatagramSocketId> add(Socket socket);
  // False: there is nothing more to be had in this round.
  bool receive_some(DatagramSocketId id, Handler& handler);
  void deliver(DatagramSocketId id, unsigned index, Handler& handler);
  void receive_failed(DatagramSocketId id, int sys, Handler& handler);
  DatagramSent send_message(const Socket& socket, const msghdr& message);

  Counters& counters_;
  Descriptor set_;
  base::SlotMap<Socket> sockets_;
  std::unique_ptr<Batch> batch_;  // made with the first socket
};

}  // namespace ebb::reactor
