// Text of unknown origin for log records, events and admin answers. Each function appends to `out`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ebb::observe {

// For JSON strings. Bytes that are not UTF-8 become the four characters \xHH (the backslash itself escaped); C0, C1 and
// DEL become \u00HH, invisible characters that reorder letters \uHHHH. A terminal that shows the log must not act on
// them.
void append_json_escaped(std::string& out, std::string_view text);

// Foreign text for a terminal: printable ASCII and well-formed UTF-8 stay. Control bytes, line ends and characters that
// reorder letters become \xHH. `visible_lines` keeps line feeds and tabs, for text made of several lines.
std::string visible(std::string_view text);
std::string visible_lines(std::string_view text);

// For quoted text in plain lines, as Apache does: \" \\ and \xHH for all other bytes but printable ASCII.
void append_byte_escaped(std::string& out, std::string_view text);

// At most `bytes_max` bytes, by `escape`; "...(+N)" tells how many were cut.
void append_cut(std::string& out, std::string_view text, std::size_t bytes_max,
                void (*escape)(std::string&, std::string_view));

// "2026-11-15T15:33:37.123456Z"
void append_rfc3339(std::string& out, base::WallTime at);

}  // namespace ebb::observe
