// WebSocket: the handshake of RFC 6455, then one message that the server must echo.
#pragma once

#include <array>

#include "canary/h1_dialogue.h"
#include "canary/websocket_reader.h"

namespace ebb::canary {

class WebsocketDialogue final : public H1Dialogue {
 public:
  WebsocketDialogue(const Question& question, base::Rng& random);

  Step take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now, base::Chain& out) override;
  Step finished(bool cleanly) override;
  void part(base::BlockPool& pool, base::Chain& out) override;

 private:
  using Key = std::array<char, 24>;
  WebsocketDialogue(const Question& question, const Key& key, std::uint32_t mask);
  Step take_head(const wire::ResponseHead& head, std::string_view rest) override;
  Step take_frames(std::string_view bytes);

  const Key key_;
  const std::uint32_t mask_;
  bool switched_ = false;  // 101 has arrived
  bool asked_ = false;     // our message has been sent
  WebsocketReader reader_;
};

}  // namespace ebb::canary
