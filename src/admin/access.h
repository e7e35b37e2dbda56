// Access rules for one listener of the admin server. On loopback every local client has access; elsewhere a client
// needs the token or a certificate. Other sites' pages, which may use a visitor's browser, have none.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "admin/message.h"
#include "base/address.h"
#include "wire/tls.h"

namespace ebb::admin {

struct Access {
  base::Address address;                                // of the listener
  std::string token = {};                               // "": no token needed
  std::shared_ptr<const wire::ServerContext> tls = {};  // null: no TLS
  bool certificates = false;                            // clients must have one that `tls` trusts
  bool own_endpoints_only = false;                      // callers are known only by address, and may do little
};

// Why this listener must not be opened, with the remedy; "" if it may.
std::string why_too_open(const Access& access);

struct Denial {
  int status = 0;  // 0: allowed
  std::string_view words = {};
};

// `head` as received. Orchestrator probes have no token, and neither has a browser that opens the dashboard: /healthz,
// /readyz and the dashboard's files are therefore public and contain nothing secret.
Denial deny(const Access& access, const wire::RequestHead& head);

}  // namespace ebb::admin
