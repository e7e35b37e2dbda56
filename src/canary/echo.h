// What the echo server answers, whatever it is asked and by which protocol: 200, who has answered on which
// port, and the nonce that the request brought. Compatible with the canary of OpenShift.
//
// Next: h1_echo, h2_echo (a connection's requests), echo_session (TLS and the choice between the two), echo_server
// (sockets and time).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/block.h"
#include "base/clock.h"
#include "canary/fields.h"
#include "wire/h1_head.h"

namespace ebb::canary {

struct EchoIdentity {
  std::string body = std::string(body_text) + "\n";  // never empty
  std::string pod;                                   // "": not told
  std::string node;
};

// What is kept of a request until all of it has come.
struct EchoRequest {
  bool head_only = false;
  bool keep_alive = true;
  std::uint8_t minor = 1;
  bool websocket = false;
  std::string nonce;
  std::string websocket_key;  // "" in HTTP/2, where none is needed (RFC 8441)
};

EchoRequest echo_request(const wire::RequestHead& head);

// One for all connections of a server, on its thread: heads are large.
class EchoDesk {
 public:
  EchoDesk(EchoIdentity identity, base::BlockPool& blocks, const base::Clock& clock)
      : blocks(blocks), identity_(std::move(identity)), clock_(clock) {}

  // Views in the heads live until the next call.
  const wire::ResponseHead& answer(const EchoRequest& request, std::uint16_t port);
  const wire::ResponseHead& refusal(base::Cause cause);
  std::string_view body() const { return identity_.body; }

  base::BlockPool& blocks;
  wire::RequestHead head;  // of the request that is being read

 private:
  void begin(std::uint16_t status);

  const EchoIdentity identity_;
  const base::Clock& clock_;
  wire::ResponseHead response_;
  std::string date_;
  std::string port_;
  std::string accept_;
};

// The requests of one connection without I/O: plain bytes in, plain bytes out.
class EchoProtocol {
 public:
  // For what, and so for how long.
  enum class Waiting : std::uint8_t {
    request,
    rest_of_request,  // or for the client to take an answer
    tunnel,           // a WebSocket is open
    nothing,          // what was given to send is the last
  };

  virtual ~EchoProtocol() = default;
  virtual void take(base::Slice bytes, base::Instant now, base::Chain& out) = 0;
  // What was given to send has left: there may be more.
  virtual void refill(base::Chain& out) = 0;
  // What is on its way is still served, nothing behind it. A connection without any request yet may bring one.
  virtual void leave(base::Chain& out) = 0;
  virtual Waiting waiting() const = 0;
  virtual std::uint64_t answers() const = 0;
};

}  // namespace ebb::canary
