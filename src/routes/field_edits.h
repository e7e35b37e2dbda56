// Edits of header fields, in the form in which a head is written: names to drop and fields to append.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "routes/policy_model.h"

namespace ebb::routes {

struct FieldEdits {
  std::vector<std::string> dropped;  // names, in any case
  std::vector<FieldModel> appended;

  static FieldEdits of(const HeaderEditsModel& model);

  bool empty() const { return dropped.empty() && appended.empty(); }
  bool drops(std::string_view name) const;
  // Combines: `later` applies to the result of these edits.
  void then(const FieldEdits& later);
};

}  // namespace ebb::routes
