// Lists the holders of descriptors in this process, for the self-audit.
#pragma once

#include "admin/server.h"
#include "control/file_provider.h"
#include "control/fleet.h"
#include "observe/access_log.h"
#include "observe/self_audit.h"

namespace ebb::app {

// All arguments must outlive the audit. `inherited`: descriptors that were open when the process began.
std::vector<observe::AuditedRoom> audited_rooms(control::Fleet& fleet, admin::Server& admin,
                                                control::CanaryProbing& canary, control::FileProvider& file,
                                                const observe::AccessLog& access_log,
                                                observe::OpenDescriptors inherited);
observe::AuditedRoom audited_worker(control::Fleet& fleet, std::size_t worker);

}  // namespace ebb::app
