// The read-only pages of the admin server: /healthz, /readyz, /metrics, /api/v1/config and the description of the API.
#pragma once

#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

// How long a page waits for the workers; its clients would not wait much longer.
inline constexpr base::Duration worker_timeout = std::chrono::seconds{1};

// Call before server.start(). The sources must outlive the server.
void add_pages(Server& server, const Sources& sources, base::Duration timeout = worker_timeout);

}  // namespace ebb::admin
