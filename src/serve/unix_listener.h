// A listening unix socket in the file system, for its owner only (mode 0600).
#pragma once

#include <string>

#include "reactor/descriptor.h"

namespace ebb::serve {

// A file that a dead process left behind is replaced; one that somebody still answers on is not. The socket is made
// beside its place and renamed into it, so that it is never there with a wider mode. Empty: `error` says why.
reactor::Descriptor open_unix_listener(const std::string& path, std::string& error);

}  // namespace ebb::serve
