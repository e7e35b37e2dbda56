// The echo server's answer to any request in any protocol: 200, with the answering pod, its port, and the request's
// nonce. Compatible with the canary of OpenShift.
//
// Next: h1_echo, h2_echo (a connection's requests), echo_session (the choice between the two), echo_server.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/block.h"
#include "base/clock.h"
#include "canary/fields.h"
#include "serve/protocol.h"
#include "wire/h1_head.h"

namespace ebb::canary {

struct EchoIdentity {
  std::string body = std::string(body_text) + "\n";  // never empty
  std::string pod;                                   // "": not sent
  std::string node;
};

// The parts of a request that are kept until it is complete.
struct EchoRequest {
  bool head_only = false;
  bool keep_alive = true;
  std::uint8_t minor = 1;
  bool websocket = false;
  std::string nonce;
  std::string websocket_key;  // "" in HTTP/2, which needs none (RFC 8441)
};

EchoRequest echo_request(const wire::RequestHead& head);

// Shared by all connections of a server, on its thread: heads are large.
class EchoDesk {
 public:
  EchoDesk(EchoIdentity identity, base::BlockPool& blocks, const base::Clock& clock)
      : blocks(blocks), identity_(std::move(identity)), clock_(clock) {}

  // Views in the heads live until the next call.
  const wire::ResponseHead& answer(const EchoRequest& request, std::uint16_t port);
  const wire::ResponseHead& refusal(base::Cause cause);
  std::string_view body() const { return identity_.body; }

  base::BlockPool& blocks;
  wire::RequestHead head;  // of the current request

 private:
  void begin(std::uint16_t status);

  const EchoIdentity identity_;
  const base::Clock& clock_;
  wire::ResponseHead response_;
  std::string date_;
  std::string port_;
  std::string accept_;
};

// The requests of one connection.
class EchoProtocol : public serve::Protocol {
 public:
  // All complete requests have their answers; an incomplete request will stay incomplete.
  bool finish_input(base::Chain&) override { return false; }
  void give_up(base::Chain& out) override {
    if (waiting() == Waiting::request) leave(out);
  }
  // Reads no request while an answer waits for its reader, which bounds the memory per client.
  bool listens(bool output_waits) const override { return !output_waits; }
};

}  // namespace ebb::canary
