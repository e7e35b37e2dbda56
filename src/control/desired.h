// A provider's part of the configuration, and the outcome. A provider (the file; others beside it) states its whole
// part whenever it changes. Endpoints that change separately go to Roster::provide().
//
//   file_provider ──┐ Desired ┌──────────────── rollout ─────────────────┐
//   other providers ┴───────▶ │ join ▶ materials, snapshot ▶ two phases  │ ──▶ fleet, roster
//                   ◀──────── └──────────────────────────────────────────┘
//                    Outcome
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "config/diagnostic.h"
#include "routes/model.h"

namespace ebb::control {

struct Desired {
  std::string_view provider;  // a literal; one of the Rollout's providers
  routes::Model model;
  // Called after all files are read. False: the part is outdated; nothing changes, without a report.
  std::function<bool()> still_current{};
};

struct Outcome {
  std::uint64_t generation = 0;    // that contains the part; 0: refused, or outdated
  config::Diagnostics problems{};  // one per object

  bool applied() const { return generation != 0; }
};

}  // namespace ebb::control
