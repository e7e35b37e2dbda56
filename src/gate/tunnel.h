// After 101, or from the start, an exchange is a pair of byte streams. Each half ends on its own; when both have, or
// nothing has moved for the tunnel's idle time, the tunnel is over.
//
// Before: gate/response_path, or gate/attempts for bytes. Next: Exchanges::finish.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class Tunnel {
 public:
  explicit Tunnel(Core& core) : core_(core) {}

  void begin(Exchange& exchange);
  void on_client_bytes(base::Handle exchange, base::Slice bytes);
  void on_backend_bytes(base::Handle exchange, base::Slice bytes);
  // One side sends no more: the other is told so, and may go on sending.
  void on_client_finished(Exchange& exchange);
  void on_backend_finished(base::Handle exchange);
  // What waited for a side has left, so that the other is read again.
  void on_client_drained(Exchange& exchange);
  void on_backend_drained(Exchange& exchange);
  // A WebSocket is told that it ends, on each side on which it is between two frames. Those are then the last bytes
  // there: a stream of HTTP/2 that were reset instead would lose them.
  void say_goodbye(Exchange& exchange);

 private:
  void pass(Exchange& exchange, const Way& way, base::Slice bytes);

  Core& core_;
};

}  // namespace ebb::gate
