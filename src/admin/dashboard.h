// `/` and the files that it loads. They contain no secrets: the browser fetches the data from the API.
#pragma once

#include "admin/server.h"

namespace ebb::admin {

void add_dashboard(Server& server);

}  // namespace ebb::admin
