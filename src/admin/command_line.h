// Splits lines of the runtime socket: commands at `;`, words at spaces. A backslash makes the next character literal,
// as in HAProxy. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ebb::admin {

inline constexpr std::size_t words_max = 64;  // of one command; further words are dropped

// Views into the line, without surrounding white space. An empty part is an empty command, also at the end.
std::vector<std::string_view> split_commands(std::string_view line);

std::vector<std::string> split_words(std::string_view command);

}  // namespace ebb::admin
