// Who may ask what on one listener of the admin server. On loopback, whoever is on this machine; elsewhere, who knows
// the token or has shown a certificate. A page of some other site that makes a visitor's browser ask is none of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "admin/message.h"
#include "base/address.h"
#include "wire/tls.h"

namespace ebb::admin {

struct Access {
  base::Address address;                                // that is listened on
  std::string token = {};                               // "": none is asked for
  std::shared_ptr<const wire::ServerContext> tls = {};  // null: plain
  bool certificates = false;                            // clients must show one that `tls` trusts
  bool own_endpoints_only = false;                      // callers are known by their address, and may do little
};

// Why this listener must not be opened, with the remedy; "": it may.
std::string why_too_open(const Access& access);

struct Denial {
  int status = 0;  // 0: go on
  std::string_view words = {};
};

// `head` as it came. Probes of an orchestrator carry no token, and neither does a browser that opens the dashboard:
// /healthz, /readyz and its files tell nothing that needs one.
Denial deny(const Access& access, const wire::RequestHead& head);

}  // namespace ebb::admin
