// The secret that operators show.
#pragma once

#include <expected>
#include <string>

namespace ebb::config {

// Without white space around it. The error is a sentence with a remedy.
std::expected<std::string, std::string> read_token(const std::string& path);

}  // namespace ebb::config
