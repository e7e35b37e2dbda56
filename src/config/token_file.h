// The admin listener's secret token.
#pragma once

#include <expected>
#include <string>

namespace ebb::config {

// The token without surrounding white space. The error is a sentence with a remedy.
std::expected<std::string, std::string> read_token(const std::string& path);

}  // namespace ebb::config
