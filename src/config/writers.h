// Whether another process has a file open for writing. Half a file can be valid and mean something else: a shorter list
// of endpoints, or an incomplete revocation list.
#pragma once

#include <cstdint>
#include <string>

namespace ebb::config {

enum class Writers : std::uint8_t {
  none,
  some,
  unknown,  // the kernel does not tell this process (another's file without CAP_LEASE, a network file system)
};

// A path that does not lead to a regular file has no writers.
Writers writers_of(const std::string& path);

}  // namespace ebb::config
