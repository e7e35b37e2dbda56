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
inline constexpr FieldName pod_field{"Ebbgate-Canary-Pod", "ebbgate-canary-pod"};     // who has answered
inline constexpr FieldName node_field{"Ebbgate-Canary-Node", "ebbgate-canary-node"};  // and where it runs

// Letters, digits and hyphens; what is longer is not sent back.
inline constexpr std::size_t nonce_bytes_max = 64;
// What the server answers to a request, unless it was told otherwise.
inline constexpr std::string_view body_text = "Healthcheck requested";

}  // namespace ebb::canary
