// The HTTP API under /api/v1: backends and endpoints, drains, connections, audit, canary. openapi.h documents it; a
// test compares the two.
#pragma once

#include <memory>

#include "admin/drains.h"
#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

// Call before server.start(). The sources must outlive the server.
void add_endpoint_api(Server& server, const Sources& sources);
void add_connection_api(Server& server, const Sources& sources);
void add_audit_api(Server& server, const Sources& sources);
void add_canary_api(Server& server, const Sources& sources);
void add_drain_api(Server& server, const Sources& sources, const std::shared_ptr<Drains>& drains);

}  // namespace ebb::admin
