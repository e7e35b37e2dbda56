// The endpoint file: services with their endpoints, or only a list of gone addresses.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "config/diagnostic.h"
#include "reap/truth.h"

namespace ebb::reap {

std::expected<Truth, config::Diagnostics> load_truth(const std::string& path);
std::expected<Truth, config::Diagnostics> read_truth(std::string_view text, const std::string& file);

// The tables of keys as the Markdown that docs/reap.md holds; a test compares the two.
std::string truth_reference();

}  // namespace ebb::reap
