// What is spoken on one connection, without I/O and without a clock: plain bytes in, plain bytes out. serve/server does
// the rest: it accepts, decrypts, sends, keeps the time and closes.
//
//   admin/http_session     the API: HTTP/1, answers that come later, from any thread
//   admin/command_session  HAProxy's lines on the unix socket
//   canary/echo_session    HTTP/1, HTTP/2 and WebSockets that get back what they bring
#pragma once

#include <cstdint>
#include <functional>

#include "base/block.h"
#include "base/clock.h"

namespace ebb::serve {

class Protocol {
 public:
  // For what a connection waits: each has a time of its own (TimeLimits).
  enum class Waiting : std::uint8_t {
    request,          // for the next one, or for all of it
    rest_of_request,  // for the rest, where a request that has begun has more time than the next one has to begin
    work,             // an answer is being made
    tunnel,           // a WebSocket is open
    nothing,          // what was given to send is the last
  };

  virtual ~Protocol() = default;

  // Each appends what is to be sent.
  virtual void take(base::Slice bytes, base::Instant now, base::Chain& out) = 0;
  // All that was given to send has left. Called until it has nothing to add.
  virtual void refill(base::Chain& out) = 0;
  // The client sends no more. False: an answer would have nobody to go to.
  virtual bool finish_input(base::Chain& out) = 0;
  // The time for a request is over. The connection ends behind what this appends.
  virtual void give_up(base::Chain& out) = 0;
  // The server stops: what is on its way is still served, nothing behind it. A connection without any request yet may
  // bring one.
  virtual void leave(base::Chain& out) = 0;

  virtual Waiting waiting() const = 0;
  virtual std::uint64_t turn() const = 0;               // requests so far: each has the whole time
  virtual bool listens(bool output_waits) const = 0;    // else the kernel keeps what the client sends
  virtual std::size_t kept_input() const { return 0; }  // bytes that wait for their turn
};

}  // namespace ebb::serve
