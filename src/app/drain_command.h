// `ebbgate drain`: requests the drain of an endpoint from all replicas of the router and waits for their receipts. Run
// it before stopping a process.
#pragma once

#include <string>

namespace ebb::app {

struct DrainArguments {
  bool self = false;     // the endpoints at the caller's address
  std::string endpoint;  // HOST:PORT or backend/name
  std::string routers;   // HOST:PORT or NAME:PORT, comma-separated; a name stands for all its addresses
  std::string timeout = "60s";
  std::string token_file;
  bool json = false;
  bool not_if_last = false;
};

int drain_endpoint(const DrainArguments& arguments);

}  // namespace ebb::app
