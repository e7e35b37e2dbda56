// The keys of the admin listener.
#pragma once

#include "config/keys.h"
#include "config/load.h"

namespace ebb::config {

inline constexpr Key<routes::AdminModel> admin_tls_keys[] = {
    {"cert", file<&routes::AdminModel::certificate>, "PEM: the certificate, then the intermediate ones",
     Need::required},
    {"key", file<&routes::AdminModel::key>, "PEM: its private key, without a pass phrase", Need::required},
    {"client_ca", file<&routes::AdminModel::client_ca>,
     "PEM: the authorities of operators; who has no certificate of theirs is not let in"},
};

inline constexpr Key<routes::AdminModel> admin_keys[] = {
    {"bind", scalar<BindFormat, &routes::AdminModel::bind>,
     "where to listen; beyond loopback only with `token_file` or `tls.client_ca`"},
    {"token_file", file<&routes::AdminModel::token_file>,
     "a secret of 16 characters or more, which every request has to bring as `Authorization: Bearer SECRET`"},
    {"tls", group<routes::AdminModel, admin_tls_keys>, "HTTPS instead of HTTP"},
    {"self_drain", scalar<BindFormat, &routes::AdminModel::self_drain>,
     "another address, where an endpoint may ask for the drain of itself and of nothing else, without a token"},
};

// An address, or a mapping for those who want more.
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
