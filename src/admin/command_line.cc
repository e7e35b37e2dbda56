#include "admin/command_line.h"

namespace ebb::admin {
namespace {

bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

std::vector<std::string_view> split_commands(std::string_view line) {
  std::vector<std::string_view> commands;
  std::size_t start = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\') {
      i += 1;
    } else if (line[i] == ';') {
      commands.push_back(trimmed(line.substr(start, i - start)));
      start = i + 1;
    }
  }
  commands.push_back(trimmed(line.substr(start)));
  return commands;
}

std::vector<std::string> split_words(std::string_view command) {
  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t i = 0; i < command.size(); ++i) {
    const bool escaped = command[i] == '\\' && i + 1 < command.size();
    if (escaped) i += 1;
    if (!escaped && is_space(command[i])) {
      inside = false;
      continue;
    }
    if (!inside) {
      if (words.size() == words_max) return words;
      words.emplace_back();
    }
    inside = true;
    words.back() += command[i];
  }
  return words;
}

}  // namespace ebb::admin
