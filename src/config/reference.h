// The tables of keys as Markdown. docs/configuration.md contains it; a test compares the two.
#pragma once

#include <string>

namespace ebb::config {

std::string key_reference();

}  // namespace ebb::config
