#include "wire/tls_staple.h"

#include <openssl/ocsp.h>

#include "wire/tls_certificate.h"

namespace ebb::wire {

namespace {

using ResponsePointer = std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>>;
using BasicResponsePointer = std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>>;

BasicResponsePointer decode(const std::string& der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* end = at + der.size();
  const ResponsePointer response(d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(der.size())));
  if (response == nullptr || at != end) return nullptr;
  if (OCSP_response_status(response.get()) != OCSP_RESPONSE_STATUS_SUCCESSFUL) return nullptr;
  return BasicResponsePointer(OCSP_response_get1_basic(response.get()));
}

// The response's entry for this serial number, or nullptr. The issuer cannot be checked without its certificate, and
// the client checks it anyway.
OCSP_SINGLERESP* find_single(OCSP_BASICRESP* basic, const X509* leaf) {
  for (int i = 0; i < OCSP_resp_count(basic); ++i) {
    OCSP_SINGLERESP* single = OCSP_resp_get0(basic, i);
    auto* id = const_cast<OCSP_CERTID*>(OCSP_SINGLERESP_get0_id(single));
    ASN1_INTEGER* serial = nullptr;
    OCSP_id_get0_info(nullptr, nullptr, nullptr, &serial, id);
    if (ASN1_INTEGER_cmp(serial, X509_get0_serialNumber(leaf)) == 0) return single;
  }
  return nullptr;
}

}  // namespace

std::expected<Staple, std::string> read_staple(const std::string& der, const X509* leaf, const std::string& origin) {
  const BasicResponsePointer basic = decode(der);
  ERR_clear_error();
  if (basic == nullptr) {
    return std::unexpected("the OCSP response for " + origin +
                           " cannot be read; it must be a successful response in DER form (openssl ocsp -respout)");
  }
  OCSP_SINGLERESP* single = find_single(basic.get(), leaf);
  if (single == nullptr) {
    return std::unexpected("the OCSP response for " + origin +
                           " is about another certificate; ask the authority for this one's");
  }
  Staple staple;
  staple.der = der;
  ASN1_GENERALIZEDTIME* next_update = nullptr;
  OCSP_single_get0_status(single, nullptr, nullptr, nullptr, &next_update);
  if (next_update == nullptr) return staple;
  staple.next_update.reset(ASN1_STRING_dup(next_update));
  staple.expiry = seconds_since_epoch(next_update);
  return staple;
}

int give_staple(SSL* ssl, const Staple& staple) {
  if (!staple.fresh()) return SSL_TLSEXT_ERR_NOACK;
  void* copy = OPENSSL_memdup(staple.der.data(), staple.der.size());  // OpenSSL frees it
  if (copy == nullptr) return SSL_TLSEXT_ERR_NOACK;
  SSL_set_tlsext_status_ocsp_resp(ssl, copy, static_cast<long>(staple.der.size()));
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace ebb::wire
