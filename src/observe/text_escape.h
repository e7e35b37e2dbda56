// Text of unknown origin inside our own lines: log records, events, admin answers. Each function appends to `out`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ebb::observe {

// For between the quotes of a JSON string. Bytes that are not UTF-8 become the four characters \xHH (the backslash
// itself escaped), C0, C1 and DEL become \u00HH, and what is not seen but turns the order of letters \uHHHH: a terminal
// that shows the log must not act on them.
void append_json_escaped(std::string& out, std::string_view text);

// Foreign text as people see it in a terminal: printable ASCII and well-formed UTF-8 stay, control bytes, line ends and
// what turns the order of letters become \xHH. `visible_lines` is for text that has been put together from such pieces,
// or comes in lines of its own: line feeds and tabs stay.
std::string visible(std::string_view text);
std::string visible_lines(std::string_view text);

// For between the quotes of a plain line, as Apache does it: \" \\ and \xHH for all that is not printable ASCII.
void append_byte_escaped(std::string& out, std::string_view text);

// The first `bytes_max` bytes by `escape`; what is left out is told as "...(+N)".
void append_cut(std::string& out, std::string_view text, std::size_t bytes_max,
                void (*escape)(std::string&, std::string_view));

// "2026-11-15T15:33:37.123456Z"
void append_rfc3339(std::string& out, base::WallTime at);

}  // namespace ebb::observe
