// What tests of the configuration say about a text that is refused.
#pragma once

#include <gmock/gmock.h>

#include <expected>
#include <string>
#include <vector>

#include "config/load.h"

namespace ebb::config {

inline const std::string test_file = "/etc/ebbgate/gate.yaml";

// Each error as "line:column: key: reason; remedy"; none if it was loaded.
inline std::vector<std::string> errors_of(const std::expected<Loaded, Diagnostics>& result) {
  std::vector<std::string> texts;
  if (result) return texts;
  for (const Diagnostic& diagnostic : result.error()) {
    EXPECT_THAT(diagnostic.text(), testing::StartsWith(test_file + ":"));
    texts.push_back(diagnostic.text().substr(test_file.size() + 1));
  }
  return texts;
}

}  // namespace ebb::config
