// The readings of a path by endpoints. Programs have habits beyond the standard. They decode encoded slashes and
// backslashes, decode twice, or take backslashes for slashes. They leave out the parameters of segments (";x") and
// stray percent signs, or merge slashes. They end a path at an encoded "?", "#" or NUL, and remove dot segments or keep
// them. Each program has some of these habits, in its own order. The readings of a path are therefore all texts that
// any habits in any order make of it. Each habit shortens a path or leaves fewer backslashes, so their number is
// finite.
//
// Before: path_form. Next: path_choice, which matches each of them.
#pragma once

#include <functional>
#include <string_view>

namespace ebb::routes {

// Calls `agrees` with the path and its other readings, in the form that match() takes, with the query. Stops and
// returns false at the first refusal, or if there are too many readings.
bool every_reading(std::string_view path, const std::function<bool(std::string_view reading)>& agrees);

// Whether no reading climbs above the root by "..". For a path appended to another prefix: whether it stays below that
// prefix. False if there are too many readings.
bool stays_below_root(std::string_view path);

}  // namespace ebb::routes
