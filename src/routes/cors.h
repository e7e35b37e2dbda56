// Cross-origin requests (WHATWG Fetch, section 3.2): whether the router answers a preflight itself, and which fields
// the response gets. The browser enforces: a refused origin simply gets no permission.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "routes/field_edits.h"
#include "routes/policy_model.h"

namespace ebb::routes {

struct CorsRequest {
  std::string_view method;
  std::optional<std::string_view> origin;             // Origin
  std::optional<std::string_view> requested_method;   // Access-Control-Request-Method
  std::optional<std::string_view> requested_headers;  // Access-Control-Request-Headers
};

struct CorsAnswer {
  bool preflight = false;  // the router answers 204 with these fields; no backend gets the request
  FieldEdits response;     // replaces the backend's CORS fields: the route's settings win
};

class Cors {
 public:
  // The model outlives this.
  explicit Cors(const CorsModel& model);

  CorsAnswer answer(const CorsRequest& request) const;

 private:
  bool permits(std::string_view origin) const;
  void permit_preflight(const CorsRequest& request, FieldEdits& response) const;

  const CorsModel& model_;
  bool any_origin_;
  std::string methods_;
  std::string headers_;
  std::string expose_;
};

// The value of Strict-Transport-Security (RFC 6797 section 6.1). Send over TLS only (section 7.2).
std::string hsts_value(const HstsModel& hsts);

}  // namespace ebb::routes
