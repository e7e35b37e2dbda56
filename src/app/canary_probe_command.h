// `ebbgate canary probe`: walks through a router by hand, as the router's own canary does, and says by name what is
// wrong and what to do.
#pragma once

#include <cstdint>
#include <string>

namespace ebb::app {

struct CanaryProbeArguments {
  std::string url;
  std::string every = "5s";
  std::string budget = "2s";
  std::uint64_t count = 1;  // of each leg
  bool http2 = false;       // none of the three: HTTP/1 on a fresh connection
  bool websocket = false;
  bool reuse = false;
  std::string resolve;  // ADDRESS:PORT to connect to, whatever the name says
  std::string ca;
  bool insecure = false;
  std::uint16_t expect_port = 0;  // 0: any
  bool json = false;
};

int probe_by_hand(const CanaryProbeArguments& arguments);

}  // namespace ebb::app
