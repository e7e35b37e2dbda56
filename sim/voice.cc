#include "sim/voice.h"

namespace ebb::sim {

Tongues Tongues::draw(base::Rng& rng) {
  Tongues tongues;
  tongues.tls = rng.chance(200);
  return tongues;
}

TlsManners draw_tls_manners(base::Rng& rng, const Voice& voice, TlsSite::Peer peer) {
  TlsManners manners;
  manners.tls12 = rng.chance(150);
  if (rng.chance(200)) manners.record_max = static_cast<std::uint32_t>(rng.between(20, 2000));
  if (rng.chance(200) && voice.hello_delay_max > Duration{})
    manners.hello_delay = Duration{static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(voice.hello_delay_max.count())))};
  manners.says_goodbye = peer == TlsSite::Peer::endpoint || rng.chance(800);
  if (!voice.rude) return manners;
  if (rng.chance(500)) {
    manners.messages = static_cast<std::uint32_t>(rng.between(20, 500));
    manners.in_halves = rng.chance(700);
    manners.between = microseconds{rng.below(200'000)};
    manners.asks_back = rng.chance(500);
  }
  manners.throws_garbage = peer == TlsSite::Peer::client && rng.chance(200);
  return manners;
}

}  // namespace ebb::sim
