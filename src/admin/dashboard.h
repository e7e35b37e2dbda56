// `/` and the files that it loads. They hold nothing that needs a token: what they show, the browser asks the API for.
#pragma once

#include "admin/server.h"

namespace ebb::admin {

void add_dashboard(Server& server);

}  // namespace ebb::admin
