#include "config/reference.h"

#include <fmt/format.h>

#include "config/schema.h"

namespace ebb::config {

std::string key_reference() {
  std::string text;
  for (const KeySection& section : key_sections()) {
    text += section.path.empty() ? "### Top level\n\n" : fmt::format("### `{}`\n\n", section.path);
    text += "| key | value | default | meaning |\n|---|---|---|---|\n";
    for (const KeyRow& row : section.rows) {
      const std::string fallback = row.required           ? "required"
                                   : row.fallback.empty() ? ""
                                                          : fmt::format("`{}`", row.fallback);
      text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, row.type, fallback, row.meaning);
    }
    text += "\n";
  }
  return text;
}

}  // namespace ebb::config
