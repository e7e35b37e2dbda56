#include "wire/written_request.h"

namespace ebb::wire {

// Host is the first line.
std::string_view WrittenRequest::authority() const {
  return text_.view().substr(summary().first_line + marks()->name_size + separator.size(), marks()->value_size);
}

std::string_view WrittenRequest::upgrade() const {
  std::string_view found;
  each_line([&found](LineKind kind, const Field& line) {
    if (kind == LineKind::upgrade) found = line.value;
  });
  return found;
}

std::optional<std::string_view> WrittenRequest::value_of(std::string_view lower_case_name) const {
  std::optional<std::string_view> found;
  each_line([&](LineKind, const Field& line) {
    if (!found && equals_ignoring_case(line.name, lower_case_name)) found = line.value;
  });
  return found;
}

}  // namespace ebb::wire
