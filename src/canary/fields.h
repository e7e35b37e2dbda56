// The HTTP fields of probes. The prober marks its request with a nonce. The server returns the nonce and names its pod
// and node. The router between them adds the configuration that it runs. The 101 of a WebSocket carries the same
// fields.
#pragma once

#include <cstddef>
#include <string_view>

#include "wire/canary_fields.h"

namespace ebb::canary {

using wire::configuration_field;
using wire::FieldName;
using wire::generation_field;

inline constexpr const FieldName& nonce_field = wire::canary_nonce_field;
inline constexpr FieldName port_field{"x-request-port", "x-request-port"};            // OpenShift's
inline constexpr FieldName pod_field{"Ebbgate-Canary-Pod", "ebbgate-canary-pod"};     // the answering pod
inline constexpr FieldName node_field{"Ebbgate-Canary-Node", "ebbgate-canary-node"};  // its node

// Letters, digits and hyphens; longer nonces are not returned.
inline constexpr std::size_t nonce_bytes_max = 64;
// The server's default answer to a request.
inline constexpr std::string_view body_text = "Healthcheck requested";

}  // namespace ebb::canary
