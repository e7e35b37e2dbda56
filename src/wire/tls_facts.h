// The facts that Ebbgate reports about a peer's certificate. Private to tls_*.cc.
#pragma once

#include "wire/tls.h"
#include "wire/tls_openssl.h"

namespace ebb::wire {

PeerCertificate facts_of(X509* certificate, bool verified);
std::string base64_of(X509* certificate);

}  // namespace ebb::wire
