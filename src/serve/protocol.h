// The protocol of one connection, without I/O and without a clock: plain bytes in, plain bytes out. serve/server does
// the rest: it accepts, decrypts, sends, keeps the time and closes.
//
//   admin/http_session     the API: HTTP/1, answers that come later, from any thread
//   admin/command_session  HAProxy's lines on the unix socket
//   canary/echo_session    HTTP/1, HTTP/2 and WebSockets that echo their input
#pragma once

#include <cstdint>
#include <functional>

#include "base/block.h"
#include "base/clock.h"

namespace ebb::serve {

class Protocol {
 public:
  // What a connection waits for; each kind has its own time limit (TimeLimits).
  enum class Waiting : std::uint8_t {
    request,          // the next request, or all of the first
    rest_of_request,  // for protocols in which a started request has more time than the wait for it
    work,             // an answer in preparation
    tunnel,           // a WebSocket is open
    nothing,          // the last output is queued
  };

  virtual ~Protocol() = default;

  // Each appends its output.
  virtual void take(base::Slice bytes, base::Instant now, base::Chain& out) = 0;
  // All output has left. Called until nothing is added.
  virtual void refill(base::Chain& out) = 0;
  // The client sends no more. False: it cannot receive an answer either.
  virtual bool finish_input(base::Chain& out) = 0;
  // The time for a request is over. The connection ends after this output.
  virtual void give_up(base::Chain& out) = 0;
  // The server stops: requests in progress are still served, no later ones. A connection without any request yet may
  // send one.
  virtual void leave(base::Chain& out) = 0;

  virtual Waiting waiting() const = 0;
  virtual std::uint64_t turn() const = 0;               // requests so far: each gets the full time
  virtual bool listens(bool output_waits) const = 0;    // false: leave the client's input in the kernel
  virtual std::size_t kept_input() const { return 0; }  // bytes of later requests
};

}  // namespace ebb::serve
