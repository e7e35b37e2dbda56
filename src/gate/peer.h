// What the two peers of an exchange have in common: bytes that wait to be sent, how they are received, a byte stream.
// gate/front.h is the client, gate/back.h the endpoint; `end` is the handle of a connection of HTTP/1 or of a
// stream of HTTP/2, and nobody above asks which.
#pragma once

#include <cstdint>

#include "base/backlog.h"
#include "base/block.h"
#include "base/cause.h"
#include "base/slot_map.h"
#include "reactor/reactor.h"

namespace ebb::gate {

class Peer {
 public:
  virtual ~Peer() = default;

  virtual void flush(base::Handle end, base::Chain&& out) = 0;
  // Output that waits.
  virtual std::size_t unsent(base::Handle end) = 0;
  virtual base::Backlog backlog(base::Handle end) = 0;  // the same, and since when
  // More waits than may: the other peer is not read until this one has drained. `share`: see waits_too_much().
  virtual bool stuck(base::Handle end, std::size_t share) = 0;
  // How bytes are received from now on.
  virtual void receive(base::Handle end, reactor::Receive mode) = 0;
  // Of the body that it sends, bytes that are still to come; UINT64_MAX: not known. 0 also where nobody needs to know.
  virtual std::uint64_t body_left(base::Handle end) = 0;
  // The socket, if bytes of the body are bytes on it, so that the kernel may move them.
  virtual reactor::SocketId bare_socket(base::Handle end) = 0;

  // A byte stream from here on: bytes by flush(), each half ends on its own.
  virtual void become_tunnel(base::Handle end) = 0;
  virtual base::Chain early_bytes(base::Handle end) = 0;  // that came behind the head
  virtual void finish(base::Handle end) = 0;
  virtual void close_tunnel(base::Handle end, base::Cause cause) = 0;
};

// Two ends of an exchange, in the direction in which bytes go.
struct Way {
  Peer& from;
  base::Handle from_end;
  Peer& to;
  base::Handle to_end;
};

}  // namespace ebb::gate
