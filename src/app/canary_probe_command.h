// `ebbgate canary probe`: probes a router from the command line, as the router's own canary does, and names each fault
// and its remedy.
#pragma once

#include <cstdint>
#include <string>

namespace ebb::app {

struct CanaryProbeArguments {
  std::string url;
  std::string every = "5s";
  std::string budget = "2s";
  std::uint64_t count = 1;  // per leg
  bool http2 = false;       // none of the three: HTTP/1 on a fresh connection
  bool websocket = false;
  bool reuse = false;
  std::string resolve;  // ADDRESS:PORT to connect to, instead of resolving the name
  std::string ca;
  bool insecure = false;
  std::uint16_t expect_port = 0;  // 0: any
  bool json = false;
};

int probe_by_hand(const CanaryProbeArguments& arguments);

}  // namespace ebb::app
