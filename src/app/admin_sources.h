// Connects the admin server to the rest of the process.
#pragma once

#include <atomic>

#include "admin/sources.h"
#include "control/fleet.h"
#include "control/rollout.h"
#include "observe/access_log.h"
#include "observe/self_audit.h"

namespace ebb::app {

// All of them must outlive the sources.
admin::Sources admin_sources(control::Fleet& fleet, control::Roster& roster, const control::Rollout& rollout,
                             const control::CanaryProbing& canary, observe::AccessLog& access_log,
                             const observe::SelfAudit& audit, const base::Labels& labels,
                             const std::atomic<bool>& draining);

}  // namespace ebb::app
