#include "census/screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "observe/text_escape.h"

namespace ebb::census {
namespace {

constexpr std::array<std::string_view, 4> group_names = {"socket", "process", "peer", "verdict"};
constexpr std::size_t draft_bytes_max = 200;
constexpr std::size_t lines_above = 3;  // summary, keys, heading

template <class Enum>
Enum next_of(Enum value, std::size_t count) {
  return static_cast<Enum>((static_cast<std::size_t>(value) + 1) % count);
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

bool Screen::press(Key key, char character) {
  if (editing_) {
    edit(key, character);
    return true;
  }
  switch (key) {
    case Key::up: top_ -= std::min<std::size_t>(top_, 1); break;
    case Key::down: top_ += 1; break;
    case Key::page_up: top_ -= std::min(top_, page_); break;
    case Key::page_down: top_ += page_; break;
    case Key::home: top_ = 0; break;
    case Key::end: top_ = ~std::size_t{0} / 2; break;
    case Key::character:
      if (character == 'q') return false;
      if (character == 's') sort_ = next_of(sort_, sort_names.size());
      if (character == 'g') group_ = next_of(group_, group_names.size()), top_ = 0;
      if (character == 'p') paused_ = !paused_;
      if (character == '/') editing_ = true, draft_ = text_;
      break;
    case Key::enter:
    case Key::escape:
    case Key::backspace: break;
  }
  return true;
}

void Screen::edit(Key key, char character) {
  if (key == Key::character && draft_.size() < draft_bytes_max) draft_ += character;
  if (key == Key::backspace && !draft_.empty()) draft_.pop_back();
  if (key == Key::enter) take_filter();
  if (key == Key::escape) editing_ = false;
}

void Screen::take_filter() {
  auto filter = Filter::parse(words_of(draft_));
  complaint_ = filter ? "" : filter.error();
  if (!filter) return;
  typed_ = std::move(*filter);
  text_ = draft_;
  editing_ = false;
  top_ = 0;
}

std::vector<std::string> Screen::draw(const Census& census, std::size_t rows, std::size_t columns) {
  std::vector<std::uint32_t> shown;
  for (const std::uint32_t index : given_.select(census)) {
    if (typed_.admits(census, index)) shown.push_back(index);
  }
  sort(census, sort_, shown);
  std::string at;
  observe::append_rfc3339(at, census.sample.at);
  std::vector<std::string> lines = {
      fmt::format("{}  {}{}", at.substr(11, 8), paused_ ? "(paused) " : "", summary(census, shown))};
  if (editing_) {
    lines.push_back(fmt::format("filter: {}_  {}", draft_, complaint_));
  } else {
    lines.push_back(fmt::format("q quit  s sort: {}  g group: {}  / filter: {}  p pause  arrows scroll",
                                sort_names[static_cast<std::size_t>(sort_)],
                                group_names[static_cast<std::size_t>(group_)], text_.empty() ? "none" : text_));
  }
  page_ = rows > lines_above ? rows - lines_above : 1;
  std::string body;
  const Print append = [&body](std::string_view piece) { body += piece; };
  if (group_ == GroupBy::none) {
    top_ = std::min(top_, shown.size() > page_ ? shown.size() - page_ : 0);
    print_table(census, std::span(shown).subspan(top_, std::min(page_, shown.size() - top_)), append);
  } else {
    print_groups(census, shown, group_, append);
  }
  auto below = lines_of(body);
  if (group_ != GroupBy::none && !below.empty()) {
    const std::size_t groups = below.size() - 1;
    top_ = std::min(top_, groups > page_ ? groups - page_ : 0);
    below.erase(below.begin() + 1, below.begin() + 1 + static_cast<std::ptrdiff_t>(top_));
  }
  std::ranges::move(below, std::back_inserter(lines));
  lines.resize(std::min(lines.size(), rows));
  for (std::string& line : lines) line.resize(std::min(line.size(), columns));
  return lines;
}

}  // namespace ebb::census
