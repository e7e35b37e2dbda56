#include "routes/field_edits.h"

#include <algorithm>

#include "routes/normalise.h"

namespace ebb::routes {

FieldEdits FieldEdits::of(const HeaderEditsModel& model) {
  FieldEdits edits{model.remove, model.set};
  for (const FieldModel& field : model.set) edits.dropped.push_back(field.name);
  edits.appended.insert(edits.appended.end(), model.add.begin(), model.add.end());
  return edits;
}

bool FieldEdits::drops(std::string_view name) const {
  return std::ranges::any_of(dropped, [name](const std::string& other) { return equal_in_any_case(name, other); });
}

void FieldEdits::then(const FieldEdits& later) {
  std::erase_if(appended, [&later](const FieldModel& field) { return later.drops(field.name); });
  for (const std::string& name : later.dropped) {
    if (!drops(name)) dropped.push_back(name);
  }
  appended.insert(appended.end(), later.appended.begin(), later.appended.end());
}

}  // namespace ebb::routes
