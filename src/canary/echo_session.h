// The protocol of one connection of the echo server: chosen by ALPN with TLS, and by the first bytes without it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "canary/echo.h"

namespace ebb::canary {

class EchoSession final : public EchoProtocol {
 public:
  // `alpn`: given for a connection with TLS. The desk outlives the session.
  EchoSession(EchoDesk& desk, std::uint16_t port, std::optional<std::string_view> alpn = std::nullopt);

  void take(base::Slice bytes, base::Instant now, base::Chain& out) override;
  void refill(base::Chain& out) override;
  void leave(base::Chain& out) override;
  Waiting waiting() const override;
  std::uint64_t turn() const override { return chosen_ == nullptr ? 0 : chosen_->turn(); }

 private:
  void choose(bool h2);

  EchoDesk& desk_;
  const std::uint16_t port_;
  std::string first_;  // first bytes without TLS, which may become the preface of HTTP/2
  std::unique_ptr<EchoProtocol> chosen_;
  bool leaving_ = false;
};

}  // namespace ebb::canary
