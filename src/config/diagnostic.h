// An error in the configuration: place, key, reason and remedy.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ebb::config {

struct Diagnostic {
  std::string file;
  int line = 0;     // from 1; 0: the whole file
  int column = 0;   // from 1
  std::string key;  // "routes[3].backend"; may be empty
  std::string reason;
  std::string remedy;

  // "file:line:column: key: reason; remedy"
  std::string text() const;
};

using Diagnostics = std::vector<Diagnostic>;

// One per line, without a trailing newline.
std::string text_of(const Diagnostics& diagnostics);

}  // namespace ebb::config
