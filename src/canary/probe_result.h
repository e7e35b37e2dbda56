// The result of a probe.
#pragma once

#include <optional>
#include <string>

#include "canary/judge.h"
#include "canary/phases.h"

namespace ebb::canary {

// Of the certificate at the front door.
struct CertificateFacts {
  std::string subject;
  std::string issuer;
  base::WallTime expires{};
  bool verified = false;
};

struct ProbeResult {
  Judgement judgement;
  Phases phases;
  Answer answer;        // as far as it came
  std::string peer;     // the address that was asked; "": none was
  bool reused = false;  // on a connection that had carried another request
  std::string tls;      // version of the protocol; "": none
  std::optional<CertificateFacts> certificate;
  bool expires_soon = false;  // the certificate: a warning, not a fault
  base::WallTime at{};        // when it ended

  bool good() const { return judgement.fault == Fault::none; }
};

}  // namespace ebb::canary
