#include "gate/findings.h"

#include "gate/worker.h"

namespace ebb::gate {

void Findings::report(const Finding& finding) {
  const Siblings& siblings = core_.siblings;
  const std::size_t home = siblings.home(finding.identity);
  if (home == siblings.self || !siblings.post) return take(finding);
  siblings.post(home, [finding](Worker& worker) { worker.health().take(finding); });
}

}  // namespace ebb::gate
