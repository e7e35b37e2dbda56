// Lines of the runtime socket, taken apart: commands between `;`, words between spaces. A backslash takes the meaning
// from the character behind it, as in HAProxy's dialect. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ebb::admin {

inline constexpr std::size_t words_max = 64;  // of one command; what is beyond them is left out

// Views into the line, without white space around them. An empty part is an empty command, the last one too.
std::vector<std::string_view> split_commands(std::string_view line);

std::vector<std::string> split_words(std::string_view command);

}  // namespace ebb::admin
