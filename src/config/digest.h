// A digest of a configuration, for comparison between replicas. Comments, layout and the order of keys do not change
// it.
#pragma once

#include <string>

#include "config/document.h"

namespace ebb::config {

// 16 hexadecimal digits. Keys that belong to one process are left out
// (docs/decisions/0012-the-configuration-digest.md).
std::string digest_of(const Node& root);

}  // namespace ebb::config
