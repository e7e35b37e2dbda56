// `ebbgate canary serve`: the echo server behind a canary's route. Replaces OpenShift's `ingress-operator
// serve-healthcheck`: same variables, ports, answer and messages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ebb::app {

// Empty members count as not given.
struct CanaryServeArguments {
  std::optional<std::uint16_t> port;  // 8080, with TLS 8443; 0: any
  std::uint16_t second_port = 8888;
  std::string certificate;  // path
  std::string key;          // path
  std::string oldest_tls;   // VersionTLS12 or VersionTLS13
  std::string response;     // replaces the usual body
  std::string pod;
  std::string node;
};

// Serves until SIGTERM or SIGINT.
int serve_canary(const CanaryServeArguments& arguments);

}  // namespace ebb::app
