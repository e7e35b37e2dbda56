// The keys of the admin listener.
#pragma once

#include "config/keys.h"
#include "config/load.h"

namespace ebb::config {

inline constexpr Key<routes::AdminModel> admin_tls_keys[] = {
    {"cert", file<&routes::AdminModel::certificate>, "PEM: the certificate, then its intermediates", Need::required},
    {"key", file<&routes::AdminModel::key>, "PEM: its private key, without a passphrase", Need::required},
    {"client_ca", file<&routes::AdminModel::client_ca>,
     "PEM: authorities of operators; clients need a certificate of one of them"},
};

inline constexpr Key<routes::AdminModel> admin_keys[] = {
    {"bind", scalar<BindFormat, &routes::AdminModel::bind>,
     "address to listen on; beyond loopback only with `token_file` or `tls.client_ca`"},
    {"token_file", file<&routes::AdminModel::token_file>,
     "file with a secret of 16 characters or more; every request needs `Authorization: Bearer SECRET`"},
    {"tls", group<routes::AdminModel, admin_tls_keys>, "HTTPS instead of HTTP"},
    {"self_drain", scalar<BindFormat, &routes::AdminModel::self_drain>,
     "second address, where an endpoint may drain itself (and no other) without a token; see [draining](draining.md)"},
};

// An address, or a mapping for more options.
inline constexpr Value<Startup> admin_rule = {
    [] { return std::string("address or mapping"); },
    [](Reader& reader, const Node& node, Startup& startup) {
      if (node.kind == Node::Kind::mapping) {
        read_mapping(reader, node, Keys<routes::AdminModel>(admin_keys), startup.admin);
      } else {
        read_scalar<BindFormat>(reader, node, startup.admin.bind);
      }
    },
    [](const Startup&) { return std::string(); },
};

}  // namespace ebb::config
