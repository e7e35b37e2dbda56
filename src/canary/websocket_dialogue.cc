#include "canary/websocket_dialogue.h"

#include <fmt/format.h>

#include "wire/websocket.h"
#include "wire/websocket_frames.h"

namespace ebb::canary {

namespace {

std::array<char, 24> draw_key(base::Rng& random) {
  const std::uint64_t high = random.next();
  return wire::websocket_key(high, random.next());
}

}  // namespace

// Braces fix the order of the random draws.
WebsocketDialogue::WebsocketDialogue(const Question& question, base::Rng& random)
    : WebsocketDialogue{question, draw_key(random), static_cast<std::uint32_t>(random.next())} {}

WebsocketDialogue::WebsocketDialogue(const Question& question, const Key& key, std::uint32_t mask)
    : H1Dialogue(question, fmt::format("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                                       "Sec-WebSocket-Key: {}\r\n",
                                       std::string_view(key.data(), key.size()))),
      key_(key),
      mask_(mask) {}

Dialogue::Step WebsocketDialogue::take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now,
                                       base::Chain& out) {
  const Step step = switched_ ? take_frames(bytes.view()) : H1Dialogue::take(pool, bytes, now, out);
  if (switched_ && !asked_ && step == Step::waiting) {
    asked_ = true;
    out.push(pool.copy(websocket_text(question().nonce, mask_)));
  }
  return step;
}

// Any other status is already the answer; its body is not read.
Dialogue::Step WebsocketDialogue::take_head(const wire::ResponseHead& head, std::string_view rest) {
  if (head.status != 101) return Step::complete;
  const wire::Field* const accept = head.fields.find("sec-websocket-accept");
  const auto expected = wire::websocket_accept({key_.data(), key_.size()});
  if (accept == nullptr || accept->value != std::string_view(expected.data(), expected.size())) {
    return fail(Fault::malformed, "Sec-WebSocket-Accept does not match the key");
  }
  switched_ = true;
  return take_frames(rest);
}

Dialogue::Step WebsocketDialogue::take_frames(std::string_view bytes) {
  switch (reader_.take(bytes)) {
    case WebsocketReader::Status::more: return Step::waiting;
    case WebsocketReader::Status::refused: return fail(Fault::malformed, reader_.why());
    case WebsocketReader::Status::closed: return fail(Fault::truncated, "closed before the message came back");
    case WebsocketReader::Status::complete: break;
  }
  answer_.body = reader_.message();
  return Step::complete;
}

Dialogue::Step WebsocketDialogue::finished(bool cleanly) {
  return switched_ ? fail(Fault::truncated, "closed before the message came back") : H1Dialogue::finished(cleanly);
}

void WebsocketDialogue::part(base::BlockPool& pool, base::Chain& out) {
  if (!switched_) return;
  out.push(pool.copy({wire::websocket_going_away_masked.data(), wire::websocket_going_away_masked.size()}));
}

}  // namespace ebb::canary
