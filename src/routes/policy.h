// A PolicyModel prepared for requests. Most routes have none.
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

  // `number` is random or a counter, as for pick().
  bool wants(std::uint64_t number) const { return number % 100 < percent; }
};

// Identifies a router's configuration, for the canary's probes.
struct ConfigurationMark {
  std::string generation;  // counted per process
  std::string digest;      // Model::digest
};

struct Policy {
  using BackendIndex = std::function<std::uint32_t(std::string_view name)>;

  // The model is valid; model and mark outlive this.
  Policy(const PolicyModel& model, const BackendIndex& backend_index, const ConfigurationMark* mark = nullptr);

  const PolicyModel& model;
  FieldEdits request;
  FieldEdits response;
  AddressFilter addresses;
  std::vector<Mirror> mirrors;
  std::optional<Cors> cors;
  std::string hsts;                         // Strict-Transport-Security, for TLS only; "": none
  const ConfigurationMark* mark = nullptr;  // of the snapshot, for the canary's probes; null: not the canary's route
};

// The body for an error of the router's own, or nullptr. An exact status wins over its class.
const ErrorBodyModel* error_body(std::span<const ErrorBodyModel> bodies, std::uint16_t status);

}  // namespace ebb::routes
