// The parts of validate(): one file for each list of the model, and one for policies.
#pragma once

#include <span>
#include <string>

#include "routes/refusals.h"

namespace ebb::routes {

void check_listeners(const Model& model, const BackendsByName& backends, Refusals& refusals);
void check_routes(const Model& model, const BackendsByName& backends, Refusals& refusals);
void check_backends(const Model& model, Refusals& refusals);
void check_canary(const Model& model, const BackendsByName& backends, Refusals& refusals);
void check_cookies(const Model& model, const BackendsByName& backends, Refusals& refusals);

// `key` is that of the backend.
void check_balance(const std::string& key, const BackendModel& backend, Refusals& refusals);
// A setting of the backend that needs HTTP; "" if there is none.
std::string needs_http(const BackendModel& backend);

// `key` is that of the route.
void check_policy(const std::string& key, const RouteModel& route, const BackendsByName& backends, Refusals& refusals);
// A passthrough route cannot use what needs decryption.
void check_passthrough(const std::string& key, const RouteModel& route, Refusals& refusals);
void check_header_edits(const std::string& key, const HeaderEditsModel& edits, Refusals& refusals);
void check_errors(const std::string& key, std::span<const ErrorBodyModel> errors, Refusals& refusals);

}  // namespace ebb::routes
