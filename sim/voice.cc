#include "sim/voice.h"

namespace ebb::sim {

Tongues Tongues::draw(base::Rng& rng) {
  Tongues tongues;
  tongues.tls = rng.chance(200);
  tongues.h2 = rng.chance(300);
  tongues.datagrams = rng.chance(200);
  return tongues;
}

H2Manners draw_h2_manners(base::Rng& rng, const Voice& voice) {
  H2Manners manners;
  if (rng.chance(300)) manners.streams_max = static_cast<std::uint32_t>(rng.between(1, 5));
  if (rng.chance(300)) manners.window = static_cast<std::uint32_t>(rng.between(500, 20000));
  if (rng.chance(200)) manners.data_max = static_cast<std::uint32_t>(rng.between(64, 2000));
  if (rng.chance(200)) manners.window_delay = microseconds{rng.below(20'000)};
  if (rng.chance(200) && voice.hello_delay_max > Duration{})
    manners.settings_delay =
        microseconds{rng.below(static_cast<std::uint64_t>(voice.hello_delay_max / microseconds{1}))};
  manners.pads = rng.chance(200);
  manners.splits_heads = rng.chance(200);
  manners.keeps = milliseconds{rng.below(rng.chance(500) ? 500 : 20'000)};
  if (voice.useless && rng.chance(100)) manners.streams_max = 0;
  if (!voice.rude) return manners;
  if (rng.chance(400)) manners.oddities = static_cast<std::uint32_t>(rng.between(10, 300));
  if (rng.chance(300)) manners.refuses = static_cast<std::uint32_t>(rng.between(20, 300));
  if (rng.chance(400)) manners.goes_after = static_cast<std::uint32_t>(rng.between(1, 10));
  return manners;
}

TlsManners draw_tls_manners(base::Rng& rng, const Voice& voice, TlsSite::Peer peer) {
  TlsManners manners;
  manners.tls12 = rng.chance(150);
  if (rng.chance(200)) manners.record_max = static_cast<std::uint32_t>(rng.between(20, 2000));
  if (rng.chance(200) && voice.hello_delay_max > Duration{})
    manners.hello_delay =
        Duration{static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(voice.hello_delay_max.count())))};
  manners.says_goodbye = peer == TlsSite::Peer::endpoint || rng.chance(800);
  if (!voice.rude) return manners;
  if (rng.chance(500)) {
    manners.messages = static_cast<std::uint32_t>(rng.between(20, 500));
    manners.in_halves = rng.chance(700);
    manners.between = microseconds{rng.below(200'000)};
    // The KeyUpdate of the router would make a reset of an endpoint's close, and destroy its last answer.
    manners.asks_back = rng.chance(500) && peer == TlsSite::Peer::client;
  }
  manners.throws_garbage = peer == TlsSite::Peer::client && rng.chance(200);
  return manners;
}

}  // namespace ebb::sim
