// A route whose requests are split over several backends by weight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "routes/field_edits.h"

namespace ebb::routes {

struct Share {
  std::uint32_t backend = 0;  // index into Snapshot::backends
  std::uint32_t weight = 1;   // 0: never picked
  FieldEdits request;         // those of the route and of the share
  FieldEdits response;
};

// The index of a share. Of any `sum of weights` consecutive numbers each share gets as many as its weight, so that
// both a counter and a random number give the right parts. Nothing if all weights are 0.
std::optional<std::size_t> pick(std::span<const Share> shares, std::uint64_t number);

}  // namespace ebb::routes
