// "did you mean": finds the known word nearest to the written word.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ebb::config {

// Edits (insert, remove, replace, swap of neighbours) that turn one word into the other; case is ignored.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "did you mean `listeners`?", or the list of all words if no word is near.
std::string suggest(std::string_view written, std::span<const std::string_view> known);

}  // namespace ebb::config
