// What a configuration says, in one number that replicas can compare: equal for files that say the same, whatever their
// comments, their layout and the order of their keys.
#pragma once

#include <string>

#include "config/document.h"

namespace ebb::config {

// 16 hexadecimal digits. What belongs to one process by nature is left out
// (docs/decisions/0012-the-configuration-digest.md).
std::string digest_of(const Node& root);

}  // namespace ebb::config
