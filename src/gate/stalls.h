// Connections whose bytes the endpoint's kernel does not acknowledge. Bytes that were sent again once make the home
// worker probe the endpoint; sent again twice, they make it suspect.
//
// Owns nothing; the kernel keeps the facts (reactor/tcp_facts.h). Owned by HealthWatch, ends with the worker.
// Changes no connection, and reports findings. Before: gate/health (look). Next: gate/verdicts.
#pragma once

#include <vector>

#include "gate/backend_connection.h"
#include "gate/core.h"
#include "gate/findings.h"

namespace ebb::gate {

class Stalls {
 public:
  Stalls(Core& core, Findings& findings) : core_(core), findings_(findings) {}

  // True: some bytes were sent again, so that the next look should come soon.
  bool look();

 private:
  std::vector<base::Handle> quiet_connections() const;
  bool look_at(const BackendConnection& connection);

  Core& core_;
  Findings& findings_;
};

}  // namespace ebb::gate
