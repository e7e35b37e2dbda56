// `ebbgate drain`: asks all replicas of the router to drain an endpoint and waits for their receipts. Made to be run
// before a process is told to stop.
#pragma once

#include <string>

namespace ebb::app {

struct DrainArguments {
  bool self = false;     // the endpoints at the address that we ask from
  std::string endpoint;  // HOST:PORT or backend/name
  std::string routers;   // HOST:PORT or NAME:PORT, comma-separated; a name means every address that it has
  std::string timeout = "60s";
  std::string token_file;
  bool json = false;
  bool not_if_last = false;
};

int drain_endpoint(const DrainArguments& arguments);

}  // namespace ebb::app
