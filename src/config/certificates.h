// The certificates that a listener names, as text. What is in them is judged by wire/tls, which parses them.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "config/diagnostic.h"
#include "routes/model.h"

namespace ebb::config {

struct CertificateText {
  std::string certificate_pem;
  std::string key_pem;
  std::string origin;  // the certificate's path, for messages
};

// In the order of the listener's list; or each file that cannot be read.
std::expected<std::vector<CertificateText>, Diagnostics> read_certificates(const routes::ListenerModel& listener);

}  // namespace ebb::config
