// Whether the policy lets a socket be touched at all. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/address.h"
#include "reap/policy.h"
#include "reap/truth.h"

namespace ebb::reap {

// The owner of a socket. Unknown facts are empty, and match no condition.
struct Belonging {
  std::string_view netns;
  std::string_view process;
  std::string_view cgroup;
  std::uint32_t uid = 0;
  base::Address peer;
  base::Address real_peer;  // invalid: none
  std::span<const Label> labels;
};

// The first row that matches; null if none does.
const AllowRow* allowed_by(std::span<const AllowRow> rows, const Belonging& belonging);

// Whether the sockets of `place` are there, by its labels; "" for an unknown control group.
bool is_at(const Place& place, std::string_view netns, std::string_view cgroup);

// Whether any row could match a socket of that namespace; if not, the namespace is skipped.
bool may_allow_in(std::span<const AllowRow> rows, std::string_view netns);

}  // namespace ebb::reap
