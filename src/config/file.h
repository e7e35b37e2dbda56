// Reads small files whole.
#pragma once

#include <expected>
#include <string>

namespace ebb::config {

// At most `bytes_max` bytes of a regular file. The error is the system's message.
std::expected<std::string, std::string> read_file(const std::string& path, std::size_t bytes_max);

}  // namespace ebb::config
