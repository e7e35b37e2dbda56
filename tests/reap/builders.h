// Endpoints, truths and sockets as tests want them.
#pragma once

#include "census/builders.h"
#include "reap/truth.h"

namespace ebb::reap {

using census::address;

inline Endpoint endpoint(std::string_view at, Presence state = Presence::ready) { return {address(at), state, {}}; }

inline Truth truth_of(std::vector<Endpoint> endpoints) {
  Truth truth;
  truth.services.push_back(
      {.name = "shop/api", .addresses = {address("10.96.0.1:443")}, .endpoints = std::move(endpoints)});
  return truth;
}

// Open, to a service's address, where the node has translated it to an endpoint's.
inline census::Socket pinned(std::string_view real_peer) {
  census::Socket socket = census::established(1000);
  socket.peer = address("10.96.0.1:443");
  socket.real_peer = address(real_peer);
  return socket;
}

inline census::Socket direct(std::string_view peer) {
  census::Socket socket = census::established(1000);
  socket.peer = address(peer);
  return socket;
}

}  // namespace ebb::reap
