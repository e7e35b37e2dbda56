// `ebbgate reap`: ends sockets of any program whose real peer is gone, by a policy; the room reap decides.
#pragma once

#include <string>

namespace ebb::app {

struct ReapArguments {
  std::string policy;     // file
  std::string endpoints;  // file; "": that of the policy
  std::string gone;       // addresses, comma-separated
  bool once = false;
  bool dry_run = false;
  bool arm = false;  // also if the policy has no `arm`
  bool json = false;
};

int reap_sockets(const ReapArguments& arguments);

}  // namespace ebb::app
