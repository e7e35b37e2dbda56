// The tables of keys as the Markdown that docs/configuration.md holds; a test compares the two.
#pragma once

#include <string>

namespace ebb::config {

std::string key_reference();

}  // namespace ebb::config
