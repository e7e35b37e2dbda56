// The policy as a file.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/diagnostic.h"
#include "reap/policy.h"

namespace ebb::reap {

std::expected<Policy, config::Diagnostics> load_policy(const std::string& path);
// `file` is for messages; relative paths in the text start at its folder.
std::expected<Policy, config::Diagnostics> read_policy(std::string_view text, const std::string& file);

// The tables of keys as the Markdown that docs/reap.md holds; a test compares the two.
std::string policy_reference();

}  // namespace ebb::reap
