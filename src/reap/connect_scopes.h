// The sockets that the kernel can arm by itself at connect(). It knows the control group and the peer's port, but not
// the names of programs and namespaces. For rows with such conditions, sockets are armed when first seen. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "reap/policy.h"

namespace ebb::reap {

struct ConnectScope {
  std::string cgroup;                // with everything below it; "": the root
  std::vector<std::uint16_t> ports;  // empty: all
  friend bool operator==(const ConnectScope&, const ConnectScope&) = default;
};

struct ConnectScopes {
  std::vector<ConnectScope> scopes;
  std::size_t rows_left_out = 0;
};

ConnectScopes connect_scopes(std::span<const AllowRow> rows);

}  // namespace ebb::reap
