// Who holds descriptors in this process, for the self-audit.
#pragma once

#include "admin/server.h"
#include "app/reload.h"
#include "app/self_audit.h"
#include "gate/fleet.h"
#include "observe/access_log.h"

namespace ebb::app {

// All of them must outlive the audit. `inherited`: what was open when the process began.
std::vector<AuditedRoom> audited_rooms(gate::Fleet& fleet, admin::Server& admin, CanaryProbing& canary, Reload& reload,
                                       const observe::AccessLog& access_log, observe::OpenDescriptors inherited);
AuditedRoom audited_worker(gate::Fleet& fleet, std::size_t worker);

}  // namespace ebb::app
