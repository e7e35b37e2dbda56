#include "gate/field_changes.h"

#include <algorithm>

#include "wire/canary_fields.h"
#include "wire/h1_field.h"

namespace ebb::gate {

namespace {

constexpr std::string_view hsts_name = "Strict-Transport-Security";

// In the place of what the endpoint said.
bool set(wire::Fields& fields, std::string_view name, std::string_view value) {
  for (wire::Field& field : fields.all()) field.hop = field.hop || wire::equals_ignoring_case(field.name, name);
  return fields.add({name, value});
}

// Trailer announces names; one that is left out is not to be announced. The field is advice (RFC 9110 section 6.6.2).
template <class Drops>
bool announces(const wire::Field& field, const Drops& drops) {
  if (!wire::equals_ignoring_case(field.name, "trailer")) return false;
  wire::ListWalk walk(field.value);
  for (std::string_view name; walk.next(name);) {
    if (drops(name)) return true;
  }
  return false;
}

template <class Drops>
void leave_out(wire::Fields& fields, const Drops& drops) {
  for (wire::Field& field : fields.all()) field.hop = field.hop || drops(field.name) || announces(field, drops);
}

// Of lines "name: value\r\n".
template <class Drops>
std::string without(std::string_view lines, const Drops& drops) {
  std::string left;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    const std::string_view line = lines.substr(0, end);
    if (!drops(line.substr(0, line.find(':')))) left.append(line);
    lines.remove_prefix(end);
  }
  return left;
}

auto dropped_or_twin(const routes::FieldEdits& edits) {
  return [&edits](std::string_view name) {
    return std::ranges::any_of(edits.dropped, [name](const std::string& other) { return wire::reads_as(name, other); });
  };
}

}  // namespace

bool change(wire::Fields& fields, const routes::FieldEdits& edits) {
  leave_out(fields, [&edits](std::string_view name) { return edits.drops(name); });
  for (const routes::FieldModel& field : edits.appended) {
    if (!fields.add({field.name, field.value})) return false;
  }
  return true;
}

bool change_request(wire::Fields& fields, const routes::FieldEdits& edits) {
  leave_out(fields, dropped_or_twin(edits));
  return change(fields, edits);
}

std::string change_request_trailers(std::string_view lines, const routes::FieldEdits& edits) {
  return without(lines, dropped_or_twin(edits));
}

wire::FieldSet forwarding_in(const routes::FieldEdits& edits) {
  wire::FieldSet set = 0;
  for (const std::string& name : edits.dropped) set |= wire::set_of(wire::field_id(name));
  return set;
}

bool ResponseChanges::apply(wire::Fields& fields) const {
  if (edits != nullptr && !change(fields, *edits)) return false;
  if (!change(fields, cors)) return false;
  if (!set_cookie.empty() && !fields.add({"Set-Cookie", set_cookie})) return false;
  if (mark != nullptr && !(set(fields, wire::generation_field.written, mark->generation) &&
                           set(fields, wire::configuration_field.written, mark->digest))) {
    return false;
  }
  // Of two, browsers take the first (RFC 6797 section 8.1).
  return hsts.empty() || set(fields, hsts_name, hsts);
}

std::string ResponseChanges::trailers(std::string_view lines) const {
  return without(lines, [this](std::string_view name) {
    return (edits != nullptr && edits->drops(name)) || cors.drops(name) ||
           (!hsts.empty() && wire::equals_ignoring_case(name, hsts_name));
  });
}

}  // namespace ebb::gate
