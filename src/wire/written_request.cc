#include "wire/written_request.h"

#include "wire/h1_head.h"

namespace ebb::wire {

// Host is the first line.
std::string_view WrittenRequest::authority() const {
  return text_.view().substr(summary().first_line + marks()->name_size + separator.size(), marks()->value_size);
}

std::string_view WrittenRequest::upgrade() const {
  std::string_view found;
  each_line([&found](LineKind kind, std::string_view, std::string_view value) {
    if (kind == LineKind::upgrade) found = value;
  });
  return found;
}

std::optional<std::string_view> WrittenRequest::value_of(std::string_view lower_case_name) const {
  std::optional<std::string_view> found;
  each_line([&](LineKind, std::string_view name, std::string_view value) {
    if (!found && equals_ignoring_case(name, lower_case_name)) found = value;
  });
  return found;
}

}  // namespace ebb::wire
