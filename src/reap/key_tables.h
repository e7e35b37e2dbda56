// Tables of keys as Markdown.
#pragma once

#include <fmt/format.h>

#include <string>

#include "config/table.h"

namespace ebb::reap {

template <class Object>
std::string key_table(std::string_view title, config::Keys<Object> keys) {
  const Object defaults{};
  std::string text = fmt::format("### {}\n\n| key | value | default | meaning |\n|---|---|---|---|\n", title);
  for (const config::Key<Object>& key : keys) {
    std::string shown = key.value.show(defaults);
    if (!shown.empty()) shown = "`" + shown + "`";
    if (key.need == config::Need::required) shown = "required";
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.value.type(), shown, key.meaning);
  }
  return text + "\n";
}

}  // namespace ebb::reap
