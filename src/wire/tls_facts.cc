#include "wire/tls_facts.h"

#include <openssl/bn.h>

#include "wire/tls_certificate.h"

namespace ebb::wire {

namespace {

std::string sha256_of(const X509* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text.push_back("0123456789abcdef"[digest[i] >> 4]);
    text.push_back("0123456789abcdef"[digest[i] & 15]);
  }
  return text;
}

// Escaped to printable ASCII for a header field.
std::string text_of(const X509_NAME* name) {
  const BioPointer bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || X509_NAME_print_ex(bio.get(), name, 0, XN_FLAG_RFC2253) < 0) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string serial_of(const X509* certificate) {
  const std::unique_ptr<BIGNUM, FreeWith<BN_free>> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* text = BN_bn2hex(number.get());
  const std::string serial(text == nullptr ? "" : text);
  OPENSSL_free(text);
  return serial;
}

}  // namespace

PeerCertificate facts_of(X509* certificate, bool verified) {
  return {.verified = verified,
          .sha256 = sha256_of(certificate),
          .subject = text_of(X509_get_subject_name(certificate)),
          .issuer = text_of(X509_get_issuer_name(certificate)),
          .serial = serial_of(certificate),
          .expiry = seconds_since_epoch(X509_get0_notAfter(certificate))};
}

std::string base64_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size <= 0) return "";
  std::string text((static_cast<std::size_t>(size) + 2) / 3 * 4 + 1, '\0');  // EVP_EncodeBlock() writes a NUL behind it
  text.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), der, size)));
  OPENSSL_free(der);
  return text;
}

}  // namespace ebb::wire
