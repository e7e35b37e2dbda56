#include "wire/tls_authority.h"

#include <openssl/ocsp.h>
#include <openssl/pem.h>

namespace ebb::wire {

namespace {

using BioOwner = std::unique_ptr<BIO, Free<BIO_free>>;
using TimeOwner = std::unique_ptr<ASN1_TIME, Free<ASN1_TIME_free>>;
using SerialOwner = std::unique_ptr<ASN1_INTEGER, Free<ASN1_INTEGER_free>>;

template <class Write>
std::string written(Write write) {
  const BioOwner bio(BIO_new(BIO_s_mem()));
  write(bio.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

void extend(X509* certificate, int kind, const std::string& value) {
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::string alternatives(const IssueFacts& facts) {
  std::string list;
  for (const std::string& name : facts.names) list += (list.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : facts.addresses) list += (list.empty() ? "IP:" : ",IP:") + address;
  return list;
}

TimeOwner seconds_from_now(long seconds) { return TimeOwner(X509_gmtime_adj(nullptr, seconds)); }

SerialOwner serial_of(long number) {
  SerialOwner serial(ASN1_INTEGER_new());
  ASN1_INTEGER_set(serial.get(), number);
  return serial;
}

X509* blank(EVP_PKEY* key, const IssueFacts& facts) {
  X509* certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), facts.serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), facts.valid_seconds);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(facts.common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

TestAuthority::TestAuthority(const std::string& name) : TestAuthority(name, nullptr) {}

TestAuthority TestAuthority::intermediate(const std::string& name) const { return TestAuthority(name, this); }

TestAuthority::TestAuthority(const std::string& name, const TestAuthority* issuer) : key_(TestKey::ecdsa()) {
  X509* own = blank(key_.key.get(), {.common_name = name, .serial = issuer == nullptr ? 1 : 2});
  certificate_.reset(own);
  const TestAuthority& signer = issuer == nullptr ? *this : *issuer;
  X509_set_issuer_name(own, X509_get_subject_name(signer.certificate_.get()));
  extend(own, NID_basic_constraints, "critical,CA:TRUE");
  extend(own, NID_key_usage, "critical,keyCertSign,cRLSign");
  X509_sign(own, signer.key_.key.get(), EVP_sha256());
}

CertificateSource TestAuthority::issue(const IssueFacts& facts, std::string origin) const {
  const TestKey key = TestKey::ecdsa();
  const X509Owner leaf(blank(key.key.get(), facts));
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(certificate_.get()));
  if (const std::string list = alternatives(facts); !list.empty()) extend(leaf.get(), NID_subject_alt_name, list);
  if (facts.purpose != nullptr) extend(leaf.get(), NID_ext_key_usage, facts.purpose);
  X509_sign(leaf.get(), key_.key.get(), EVP_sha256());
  return {written([&](BIO* bio) { PEM_write_bio_X509(bio, leaf.get()); }), key.pem(), std::move(origin)};
}

std::string TestAuthority::pem() const {
  return written([&](BIO* bio) { PEM_write_bio_X509(bio, certificate_.get()); });
}

std::string TestAuthority::crl_pem(const std::vector<long>& revoked, long valid_seconds) const {
  const std::unique_ptr<X509_CRL, Free<X509_CRL_free>> list(X509_CRL_new());
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(certificate_.get()));
  X509_CRL_set1_lastUpdate(list.get(), seconds_from_now(-7200).get());
  X509_CRL_set1_nextUpdate(list.get(), seconds_from_now(valid_seconds).get());
  for (const long number : revoked) {
    X509_REVOKED* entry = X509_REVOKED_new();
    X509_REVOKED_set_serialNumber(entry, serial_of(number).get());
    X509_REVOKED_set_revocationDate(entry, seconds_from_now(-3600).get());
    X509_CRL_add0_revoked(list.get(), entry);
  }
  X509_CRL_sort(list.get());
  X509_CRL_sign(list.get(), key_.key.get(), EVP_sha256());
  return written([&](BIO* bio) { PEM_write_bio_X509_CRL(bio, list.get()); });
}

std::string TestAuthority::ocsp_der(long serial, long valid_seconds) const {
  const std::unique_ptr<OCSP_BASICRESP, Free<OCSP_BASICRESP_free>> basic(OCSP_BASICRESP_new());
  const ASN1_BIT_STRING* key = X509_get0_pubkey_bitstr(certificate_.get());
  const std::unique_ptr<OCSP_CERTID, Free<OCSP_CERTID_free>> id(
      OCSP_cert_id_new(EVP_sha1(), X509_get_subject_name(certificate_.get()), key, serial_of(serial).get()));
  OCSP_basic_add1_status(basic.get(), id.get(), V_OCSP_CERTSTATUS_GOOD, 0, nullptr, seconds_from_now(-7200).get(),
                         seconds_from_now(valid_seconds).get());
  OCSP_basic_sign(basic.get(), certificate_.get(), key_.key.get(), EVP_sha256(), nullptr, 0);
  const std::unique_ptr<OCSP_RESPONSE, Free<OCSP_RESPONSE_free>> response(
      OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic.get()));
  return written([&](BIO* bio) { i2d_OCSP_RESPONSE_bio(bio, response.get()); });
}

}  // namespace ebb::wire
