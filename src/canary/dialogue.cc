#include "canary/dialogue.h"

#include "canary/h2_dialogue.h"
#include "canary/websocket_dialogue.h"

namespace ebb::canary {

std::unique_ptr<Dialogue> make_dialogue(Protocol protocol, const Question& question, base::Rng& random) {
  switch (protocol) {
    case Protocol::http1_fresh: return std::make_unique<H1Dialogue>(question, false);
    case Protocol::http1_reused: return std::make_unique<H1Dialogue>(question, true);
    case Protocol::h2: return std::make_unique<H2Dialogue>(question);
    case Protocol::websocket: return std::make_unique<WebsocketDialogue>(question, random);
  }
  return nullptr;
}

}  // namespace ebb::canary
