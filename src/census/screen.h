// The live view without the terminal: takes keys and draws itself as lines. app/watch.h connects it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "census/filter.h"
#include "census/table.h"

namespace ebb::census {

enum class Key : std::uint8_t { character, enter, escape, backspace, up, down, page_up, page_down, home, end };

class Screen {
 public:
  explicit Screen(Filter filter) : given_(std::move(filter)) {}

  // False: the user quits.
  bool press(Key key, char character);
  bool paused() const { return paused_; }
  // At most `rows` lines of at most `columns` characters; the first is the summary.
  std::vector<std::string> draw(const Census& census, std::size_t rows, std::size_t columns);

 private:
  void edit(Key key, char character);
  void take_filter();

  const Filter given_;  // from the command line
  Filter typed_;
  std::string text_;  // the text of typed_
  std::string draft_;
  std::string complaint_;
  bool editing_ = false;
  bool paused_ = false;
  SortBy sort_ = SortBy::verdict;
  GroupBy group_ = GroupBy::none;
  std::size_t top_ = 0;  // first visible line
  std::size_t page_ = 1;
};

}  // namespace ebb::census
