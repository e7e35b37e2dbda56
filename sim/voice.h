// What an endpoint or a client speaks, and how well it behaves doing so. Drawn per group of endpoints, or per client.
#pragma once

#include "routes/model.h"
#include "sim/tls_line.h"
#include "sim/trunk.h"

namespace ebb::sim {

// What some in a world speak besides HTTP/1 over TCP.
struct Tongues {
  bool tls = false;
  bool h2 = false;
  bool datagrams = false;

  static Tongues draw(base::Rng& rng);
};

struct Voice {
  TlsSite* tls = nullptr;                                             // null: plain
  routes::BackendProtocol protocol = routes::BackendProtocol::http1;  // a client: never `automatic`
  bool rude = false;                                                  // strange, though within what the protocols allow
  bool useless = false;  // now and then an endpoint of HTTP/2 takes no stream at all
  Duration hello_delay_max{};

  bool may_speak_h2() const { return protocol != routes::BackendProtocol::http1; }
};

H2Manners draw_h2_manners(base::Rng& rng, const Voice& voice);
TlsManners draw_tls_manners(base::Rng& rng, const Voice& voice, TlsSite::Peer peer);

}  // namespace ebb::sim
