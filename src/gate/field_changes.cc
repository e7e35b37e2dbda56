#include "gate/field_changes.h"

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

}  // namespace

bool change(wire::Fields& fields, const routes::FieldEdits& edits) {
  for (wire::Field& field : fields.all()) field.hop = field.hop || edits.drops(field.name);
  for (const routes::FieldModel& field : edits.appended) {
    if (!fields.add({field.name, field.value})) return false;
  }
  return true;
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

}  // namespace ebb::gate
