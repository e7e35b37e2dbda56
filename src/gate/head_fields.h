// The fields of a head as routes ask for them.
#pragma once

#include "routes/request_facts.h"
#include "wire/h1_head.h"

namespace ebb::gate {

class HeadFields final : public routes::HeaderSource {
 public:
  explicit HeadFields(const wire::Fields& fields) : fields_(fields) {}

  std::optional<std::string_view> line(std::string_view name, std::size_t nth) const override {
    for (const wire::Field& field : fields_.all()) {
      if (wire::equals_ignoring_case(field.name, name) && nth-- == 0) return field.value;
    }
    return std::nullopt;
  }
  std::size_t lines(std::string_view name) const override {
    std::size_t count = 0;
    for (const wire::Field& field : fields_.all()) count += wire::equals_ignoring_case(field.name, name) ? 1 : 0;
    return count;
  }

 private:
  const wire::Fields& fields_;
};

}  // namespace ebb::gate
