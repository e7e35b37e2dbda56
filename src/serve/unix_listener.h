// A listening unix socket in the file system, for its owner only (mode 0600).
#pragma once

#include <string>

#include "reactor/descriptor.h"

namespace ebb::serve {

// Replaces a file that a dead process left behind, but not a socket on which a process still answers. The socket is
// created under a temporary name and renamed, so it never appears with a wider mode. Empty: `error` says why.
reactor::Descriptor open_unix_listener(const std::string& path, std::string& error);

}  // namespace ebb::serve
