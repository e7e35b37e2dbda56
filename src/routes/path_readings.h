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

// Gives the path and its other readings, each in the form in which paths are matched, with the query. Ends with the
// first for which `agrees` is false; false then, and if there are too many to look at.
bool every_reading(std::string_view path, const std::function<bool(std::string_view reading)>& agrees);

// Whether none of these readings climbs above the root by "..". Of a path that is put behind another one this says
// whether it stays there. False too if there are too many to look at.
bool stays_below_root(std::string_view path);

}  // namespace ebb::routes
