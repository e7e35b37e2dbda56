// The result of a probe.
#pragma once

#include <optional>
#include <string>

#include "canary/judge.h"
#include "canary/phases.h"

namespace ebb::canary {

// Facts of the front door's certificate.
struct CertificateFacts {
  std::string subject;
  std::string issuer;
  base::WallTime expires{};
  bool verified = false;
};

struct ProbeResult {
  Judgement judgement;
  Phases phases;
  Answer answer;        // as much as arrived
  std::string peer;     // address of the router; "": not reached
  bool reused = false;  // the connection had carried an earlier request
  std::string tls;      // TLS version; "": none
  std::optional<CertificateFacts> certificate;
  bool expires_soon = false;  // the certificate: a warning, not a fault
  base::WallTime at{};        // end of the probe

  bool good() const { return judgement.fault == Fault::none; }
};

}  // namespace ebb::canary
