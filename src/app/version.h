// The program's version, as text and as JSON.
#pragma once

#include <string>

namespace ebb::app {

std::string version_text();  // "ebbgate 0.1.0 (clang 19.1.7)\n"
std::string version_json();  // {"name":"ebbgate","version":"0.1.0","compiler":"clang 19.1.7"}

}  // namespace ebb::app
