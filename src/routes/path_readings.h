// What a path may be to an endpoint. Programs have habits that the standard does not have: they decode encoded slashes
// and backslashes, decode twice, take backslashes for slashes, leave out the parameters of segments (";x"), take
// several slashes for one, end a path at an encoded "?", "#" or NUL, leave out stray percent signs, and remove dot
// segments or keep them. Each has some of these habits, in an order of its own. So the readings of a path are all that
// can be made of it by any habits in any order. Each habit shortens a path or leaves fewer backslashes, so that there
// is an end.
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
