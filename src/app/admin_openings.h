// From the configuration of the admin listeners to what the server opens.
#pragma once

#include <expected>
#include <string>

#include "admin/server.h"
#include "config/load.h"

namespace ebb::app {

// The error is a sentence with a remedy.
std::expected<admin::Openings, std::string> admin_openings(const config::Startup& startup);

}  // namespace ebb::app
