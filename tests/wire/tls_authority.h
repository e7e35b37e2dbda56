// A certificate authority for tests: issues, revokes and vouches (OCSP) on the spot.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "wire/tls_peer.h"

namespace ebb::wire {

struct IssueFacts {
  std::vector<std::string> names = {};      // dNSName
  std::vector<std::string> addresses = {};  // iPAddress
  std::string common_name = "leaf";
  long serial = 1000;
  long valid_seconds = 3600;      // negative: expired
  const char* purpose = nullptr;  // extended key usage: "clientAuth", "serverAuth"
};

class TestAuthority {
 public:
  using X509Owner = std::unique_ptr<X509, Free<X509_free>>;

  explicit TestAuthority(const std::string& name = "Test Root");
  TestAuthority intermediate(const std::string& name) const;

  CertificateSource issue(const IssueFacts& facts, std::string origin = "leaf.pem") const;
  std::string pem() const;
  // A list of revoked serial numbers.
  std::string crl_pem(const std::vector<long>& revoked, long valid_seconds = 3600) const;
  // "Good" for the certificate of this serial number.
  std::string ocsp_der(long serial, long valid_seconds = 3600) const;

 private:
  TestAuthority(const std::string& name, const TestAuthority* issuer);

  TestKey key_;
  X509Owner certificate_;
};

}  // namespace ebb::wire
