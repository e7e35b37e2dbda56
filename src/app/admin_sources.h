// What the admin server sees of the rest of the process.
#pragma once

#include <atomic>

#include "admin/sources.h"
#include "app/rollout.h"
#include "app/self_audit.h"
#include "gate/fleet.h"
#include "observe/access_log.h"

namespace ebb::app {

// All of them must outlive the sources.
admin::Sources admin_sources(gate::Fleet& fleet, gate::Roster& roster, const Rollout& rollout,
                             const CanaryProbing& canary, observe::AccessLog& access_log, const SelfAudit& audit,
                             const base::Labels& labels, const std::atomic<bool>& draining);

}  // namespace ebb::app
