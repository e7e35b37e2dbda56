#include "config/diagnostic.h"

#include <fmt/format.h>

#include "observe/text_escape.h"

namespace ebb::config {

std::string Diagnostic::text() const {
  std::string text = file;
  if (line > 0) text += fmt::format(":{}:{}", line, column);
  if (!key.empty()) text += ": " + key;
  text += ": " + reason;
  if (!remedy.empty()) text += "; " + remedy;
  return observe::visible(text);  // the messages quote the file
}

std::string text_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += (text.empty() ? "" : "\n") + diagnostic.text();
  return text;
}

}  // namespace ebb::config
