// A route that splits requests over several backends by weight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "routes/field_edits.h"

namespace ebb::routes {

struct Share {
  std::uint32_t backend = 0;  // index into Snapshot::backends
  std::uint32_t weight = 1;   // 0: never picked
  FieldEdits request;         // of the route and of the share
  FieldEdits response;
};

// Returns the index of a share. Of any `sum of weights` consecutive numbers each share gets as many as its weight, so a
// counter and a random number both split correctly. Empty if all weights are 0.
std::optional<std::size_t> pick(std::span<const Share> shares, std::uint64_t number);

}  // namespace ebb::routes
