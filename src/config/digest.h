// A digest of a configuration, for comparison between replicas. Files with the same values have the same digest,
// whatever their comments, their layout and the order of their keys.
#pragma once

#include <string>

#include "config/document.h"

namespace ebb::config {

// 16 hexadecimal digits. What belongs to one process by nature is left out
// (docs/decisions/0012-the-configuration-digest.md).
std::string digest_of(const Node& root);

}  // namespace ebb::config
