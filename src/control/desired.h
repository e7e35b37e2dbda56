// What a provider wants to be served, and what became of it. A provider (the file; others beside it) states its part
// whole, whenever it changes; endpoints that change without the rest go to Roster::provide().
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
  std::string_view provider;  // a literal; one of those that the Rollout was made with
  routes::Model model;
  // Asked once all files are read: if it says no, nothing changes and nothing is said, because they were overtaken.
  std::function<bool()> still_current{};
};

struct Outcome {
  std::uint64_t generation = 0;    // that serves it; 0: it was refused, or overtaken
  config::Diagnostics problems{};  // object by object

  bool applied() const { return generation != 0; }
};

}  // namespace ebb::control
