// The facts of a request that match() needs, for any protocol. Views into the caller's memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ebb::routes {

// The header fields of a request, in any protocol's storage.
class HeaderSource {
 public:
  virtual ~HeaderSource() = default;
  // The value of the field's line number `nth`, from 0; empty if there are fewer. `name` is in lower case.
  virtual std::optional<std::string_view> line(std::string_view name, std::size_t nth) const = 0;
  // How many lines the field has.
  virtual std::size_t lines(std::string_view name) const = 0;
};

struct RequestFacts {
  std::string_view method;
  std::string_view authority;  // any case, with or without port, trailing dot accepted
  std::string_view path;       // with or without query
  std::string_view listener;   // its name
  const HeaderSource* headers = nullptr;
};

}  // namespace ebb::routes
