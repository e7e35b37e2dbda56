// Every key of the configuration file.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"
#include "config/reader.h"

namespace ebb::config {

void read_schema(Reader& reader, const Node& root, Loaded& loaded);

// The words of `io`, for messages.
std::string io_text(Io io);

struct KeyRow {
  std::string name;
  std::string type;
  std::string fallback;  // "" if there is none
  bool required;
  std::string meaning;
};

struct KeySection {
  std::string path;  // "" for the top level, else as in "backends[].endpoints[]"
  std::vector<KeyRow> rows;
};

// The same tables, for the reference.
std::vector<KeySection> key_sections();

}  // namespace ebb::config
