// A connection that speaks HTTP/1: requests one after the other, with bodies read and dropped; or a WebSocket.
#pragma once

#include "canary/echo.h"
#include "canary/websocket_echo.h"
#include "wire/h1_body.h"

namespace ebb::canary {

class H1Echo final : public EchoProtocol {
 public:
  H1Echo(EchoDesk& desk, std::uint16_t port) : desk_(desk), port_(port) {}

  void take(base::Slice bytes, base::Instant now, base::Chain& out) override;
  void refill(base::Chain&) override {}
  void leave(base::Chain& out) override;
  Waiting waiting() const override;
  std::uint64_t turn() const override { return answers_; }

 private:
  enum class State : std::uint8_t { head, body, websocket, over };

  bool read_head(base::Chain& out);
  bool read_body(base::Chain& out);
  void answer(base::Chain& out);
  void refuse(base::Cause cause, base::Chain& out);
  void echo(std::string_view bytes, base::Chain& out);

  EchoDesk& desk_;
  const std::uint16_t port_;
  State state_ = State::head;
  bool leaving_ = false;
  std::uint64_t answers_ = 0;
  std::string input_;  // not parsed yet
  EchoRequest request_;
  wire::BodyReader body_;
  WebsocketEcho echo_;
};

}  // namespace ebb::canary
