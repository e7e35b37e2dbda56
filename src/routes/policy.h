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

struct Policy {
  using BackendIndex = std::function<std::uint32_t(std::string_view name)>;

  // The model is valid and outlives this.
  Policy(const PolicyModel& model, const BackendIndex& backend_index, std::string generation = {});

  const PolicyModel& model;
  FieldEdits request;
  FieldEdits response;
  AddressFilter addresses;
  std::vector<Mirror> mirrors;
  std::optional<Cors> cors;
  std::string hsts;        // value of Strict-Transport-Security, for TLS only; "": none
  std::string generation;  // of the snapshot, for the probes of the canary; "": not its route
};

// The body for an error of the router's own: one for exactly that status before one for its class; or nullptr.
const ErrorBodyModel* error_body(std::span<const ErrorBodyModel> bodies, std::uint16_t status);

}  // namespace ebb::routes
