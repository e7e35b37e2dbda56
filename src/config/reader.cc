#include "config/reader.h"

#include <algorithm>
#include <tuple>

namespace ebb::config {

namespace {

// Messages quote the file: long text is cut, and characters that could fool a terminal or a log are removed.
std::string printable(std::string text) {
  constexpr std::size_t bytes_max = 300;
  if (text.size() > bytes_max) text.replace(bytes_max, std::string::npos, "...");
  std::ranges::replace_if(text, [](char c) { return (c >= 0 && c < ' ') || c == 127; }, '?');
  return text;
}

}  // namespace

Reader::Inside::Inside(Reader& reader, std::string_view step) : reader_(reader), length_before_(reader.key_.size()) {
  if (reader_.key_.empty() && step.starts_with('.')) step.remove_prefix(1);
  reader_.key_ += step;
}

void Reader::refuse(Mark mark, std::string reason, std::string remedy) {
  refuse_key(mark, key_, std::move(reason), std::move(remedy));
}

void Reader::refuse_key(Mark mark, std::string key, std::string reason, std::string remedy) {
  count_ += 1;
  if (diagnostics_.size() == diagnostics_max) return;
  diagnostics_.push_back({file_, mark.line, mark.column, printable(std::move(key)), printable(std::move(reason)),
                          printable(std::move(remedy))});
}

bool Reader::expect(const Node& node, Node::Kind kind, std::string_view expected, std::string_view remedy) {
  if (node.kind == kind) return true;
  if (node.kind == Node::Kind::nothing && kind != Node::Kind::scalar) return true;
  refuse(node.mark, "expected " + std::string(expected) + ", found " + node.description(), std::string(remedy));
  return false;
}

bool Reader::failed_in(std::string_view part) const {
  return std::ranges::any_of(diagnostics_, [part](const Diagnostic& d) { return d.key.starts_with(part); });
}

Diagnostics Reader::take() {
  std::ranges::sort(diagnostics_, {}, [](const Diagnostic& d) { return std::tie(d.line, d.column, d.key, d.reason); });
  if (count_ > diagnostics_.size()) {
    const std::string more = std::to_string(count_ - diagnostics_.size());
    diagnostics_.push_back({file_, 0, 0, "", more + " more errors", "repair the ones above first"});
  }
  return std::move(diagnostics_);
}

}  // namespace ebb::config
