// What one worker knows of the connections of clients, for the control plane: who is there, since when, and what for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "base/slot_map.h"

namespace ebb::gate {

struct ExchangeFacts {
  std::string_view state;  // of lifecycle/exchange.h
  std::string route;
  std::string backend;
  std::string endpoint;
  base::Address address;  // of the endpoint; invalid: none is chosen
  base::Duration age{};
  std::uint64_t request_bytes = 0;
  std::uint64_t response_bytes = 0;
};

struct ConnectionFacts {
  base::Handle handle;
  base::Address client;
  std::string listener;
  std::string_view protocol;
  std::string_view state;  // of lifecycle/client_connection.h
  base::Duration age{};
  base::Duration in_state{};
  std::vector<ExchangeFacts> exchanges;  // HTTP/1: one at most
};

// What is empty or zero does not matter.
struct ConnectionFilter {
  std::string backend;
  std::string endpoint;  // its name
  std::string client;    // address without port
  std::string state;
  base::Duration idle_for{};  // in the state `idle` for so long
  std::size_t limit = 1000;

  bool matches(const ConnectionFacts& facts) const;
};

}  // namespace ebb::gate
