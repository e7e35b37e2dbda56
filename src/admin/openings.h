// Turns the configuration of the admin listeners into the sockets that the server opens.
#pragma once

#include <expected>
#include <string>

#include "admin/server.h"
#include "config/load.h"

namespace ebb::admin {

// The error is a sentence with a remedy.
std::expected<Openings, std::string> openings_of(const config::Startup& startup);

}  // namespace ebb::admin
