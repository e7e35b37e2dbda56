// "did you mean": the known word that is nearest to the given one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ebb::config {

// Edits (insert, remove, replace, swap of neighbours) that turn one word into the other, letters of any case equal.
std::size_t edit_distance(std::string_view a, std::string_view b);

// "did you mean `listeners`?", or the list of all words if none is near.
std::string suggest(std::string_view written, std::span<const std::string_view> known);

}  // namespace ebb::config
