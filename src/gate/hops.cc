#include "gate/hops.h"

#include "wire/h1_field.h"

namespace ebb::gate {

namespace {

// "1.1 edge (comment)": the second word.
std::string_view receiver_of(std::string_view element) {
  const std::size_t blank = element.find_first_of(" \t");
  if (blank == std::string_view::npos) return {};
  const std::string_view rest = wire::without_blanks(element.substr(blank));
  return rest.substr(0, rest.find_first_of(" \t("));
}

}  // namespace

// A comma in a comment makes elements that are none; at worst one of them names us, and the request is refused.
bool has_passed(const wire::Fields& fields, std::string_view name) {
  for (const wire::Field& field : fields.all()) {
    if (field.id != wire::FieldId::via) continue;
    wire::ListWalk walk(field.value);
    for (std::string_view element; walk.next(element);) {
      if (wire::equals_ignoring_case(receiver_of(element), name)) return true;
    }
  }
  return false;
}

ForwardsLeft forwards_left(const wire::RequestHead& head) {
  ForwardsLeft left;
  if (head.method != wire::Method::options && head.method != wire::Method::trace) return left;
  for (const wire::Field& field : head.fields.all()) {
    if (field.id != wire::FieldId::max_forwards || field.hop) continue;
    std::uint64_t count = 0;
    left.valid = left.valid && !left.count && wire::read_content_length(field.value, count);
    left.count = count;
  }
  return left;
}

}  // namespace ebb::gate
