// A PolicyModel made ready for requests. Routes without one, the most by far, have none of this.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routes/address_set.h"
#include "routes/cors.h"
#include "routes/field_edits.h"
#include "routes/policy_model.h"

namespace ebb::routes {

struct Mirror {
  std::uint32_t backend = 0;  // index into Snapshot::backends
  std::uint32_t percent = 100;

  // `number` is random or counted, as for pick().
  bool wants(std::uint64_t number) const { return number % 100 < percent; }
};

// Which configuration a router runs, as it tells the probes of the canary.
struct ConfigurationMark {
  std::string generation;  // counted by each process
  std::string digest;      // Model::digest
};

struct Policy {
  using BackendIndex = std::function<std::uint32_t(std::string_view name)>;

  // The model is valid and outlives this, and so does the mark.
  Policy(const PolicyModel& model, const BackendIndex& backend_index, const ConfigurationMark* mark = nullptr);

  const PolicyModel& model;
  FieldEdits request;
  FieldEdits response;
  AddressFilter addresses;
  std::vector<Mirror> mirrors;
  std::optional<Cors> cors;
  std::string hsts;                         // value of Strict-Transport-Security, for TLS only; "": none
  const ConfigurationMark* mark = nullptr;  // of the snapshot, for the probes of the canary; null: not its route
};

// The body for an error of the router's own: one for exactly that status before one for its class; or nullptr.
const ErrorBodyModel* error_body(std::span<const ErrorBodyModel> bodies, std::uint16_t status);

}  // namespace ebb::routes
