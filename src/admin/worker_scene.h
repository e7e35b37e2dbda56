// Asks all workers for what the API and the runtime socket show.
#pragma once

#include "admin/endpoint_sums.h"
#include "admin/runtime_view.h"
#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

void gather_sums(Server& server, const Sources& sources, std::move_only_function<void(std::vector<BackendSum>)> use);
void gather_scene(Server& server, const Sources& sources, std::move_only_function<void(RuntimeScene)> use);

}  // namespace ebb::admin
