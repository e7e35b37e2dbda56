// One connection of the echo server without I/O and without time: the first bytes and ALPN say what is spoken.
// A port with TLS answers who comes without it too, so that one server is behind all kinds of routes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "canary/echo.h"
#include "wire/tls.h"

namespace ebb::canary {

class EchoSession {
 public:
  using Waiting = EchoProtocol::Waiting;

  // `tls`: null for none. It outlives the session, as does the desk.
  EchoSession(EchoDesk& desk, std::uint16_t port, const wire::ServerContext* tls);

  // All append what is to be sent.
  void receive(base::Slice bytes, base::Instant now, base::Chain& out);
  void refill(base::Chain& out);
  void leave(base::Chain& out);

  Waiting waiting() const;
  std::size_t held() const;  // bytes of answers that wait for the rest of a TLS message of the client
  std::uint64_t answers() const { return requests_ == nullptr ? 0 : requests_->answers(); }

 private:
  void take(base::Slice bytes, base::Instant now, base::Chain& out);
  void choose(base::Chain& out);
  void seal(base::Chain&& plain, base::Chain& out);

  EchoDesk& desk_;
  const std::uint16_t port_;
  const wire::ServerContext* context_;  // null once the first byte has come
  std::optional<wire::TlsSession> tls_;
  std::string first_;  // bytes of a plain connection that may become the preface of HTTP/2
  std::unique_ptr<EchoProtocol> requests_;
  bool leaving_ = false;
  bool ended_ = false;  // by TLS
};

}  // namespace ebb::canary
