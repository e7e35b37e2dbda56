#include "wire/tls_certificate.h"

#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <iterator>

#include "wire/host_name.h"
#include "wire/pem_blocks.h"

namespace ebb::wire {

namespace {

using NamesPointer = std::unique_ptr<GENERAL_NAMES, FreeWith<GENERAL_NAMES_free>>;

BioPointer reader(const std::string& pem) {
  return BioPointer(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// OpenSSL would prompt at the terminal; a server has none.
int refuse_password(char*, int, int, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

// A file may hold a certificate and its key, as for HAProxy. It may also hold blocks that have no effect here:
// parameters, the certificate request, the public key.
constexpr auto bundle_kinds = {PEM_STRING_X509,         PEM_STRING_X509_OLD,     PEM_STRING_PKCS8INF,
                               PEM_STRING_RSA,          PEM_STRING_ECPRIVATEKEY, PEM_STRING_ECPARAMETERS,
                               PEM_STRING_DHPARAMS,     PEM_STRING_DHXPARAMS,    PEM_STRING_X509_REQ,
                               PEM_STRING_X509_REQ_OLD, PEM_STRING_RSA_PUBLIC,   PEM_STRING_PUBLIC};

// OpenSSL takes the first key and ignores the rest: a file with an old key before the new one would use the old key.
std::expected<void, std::string> expect_one_key(const CertificateSource& source) {
  const std::string& file = source.key_origin.empty() ? source.origin : source.key_origin;
  const std::string remedy = "; leave only the one private key for " + source.origin + " in it";
  const auto labels = pem_labels(source.key_pem);
  if (!labels) return std::unexpected(file + " has " + labels.error() + remedy);
  const auto keys =
      std::ranges::count_if(*labels, [](std::string_view label) { return label.ends_with("PRIVATE KEY"); });
  if (keys > 1) return std::unexpected(file + " has " + std::to_string(keys) + " private keys" + remedy);
  if (auto none = expect_no_stray_base64(source.key_pem); !none)
    return std::unexpected(file + " has " + none.error() + remedy);
  return {};
}

std::expected<KeyPointer, std::string> read_key(const CertificateSource& source) {
  bool encrypted = false;
  KeyPointer key(PEM_read_bio_PrivateKey(reader(source.key_pem).get(), nullptr, refuse_password, &encrypted));
  if (key != nullptr) {
    if (auto alone = expect_one_key(source); !alone) return std::unexpected(alone.error());
    return key;
  }
  const std::string reason = take_reason("no reason given");
  if (encrypted) {
    return std::unexpected("the private key for " + source.origin +
                           " is encrypted; store it without a passphrase (openssl pkey -in KEY -out PLAIN)");
  }
  return std::unexpected("the private key for " + source.origin + " cannot be read (" + reason +
                         "); it must be an unencrypted key in PEM form");
}

std::string_view text_of(const ASN1_STRING* string) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
          static_cast<std::size_t>(ASN1_STRING_length(string))};
}

// Reads the leaf's hosts and skips invalid host names.
void read_names(X509* leaf, Certificate& certificate) {
  const NamesPointer alternatives(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(leaf, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
    if (name->type == GEN_DNS) certificate.names.push_back(normal_name(text_of(name->d.dNSName)));
    if (name->type == GEN_IPADD) certificate.addresses.emplace_back(text_of(name->d.iPAddress));
  }
  if (certificate.names.empty()) {  // the common name counts only where no dNSName does: RFC 6125 section 6.4.4
    X509_NAME* subject = X509_get_subject_name(leaf);
    const int index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (index >= 0) {
      certificate.names.push_back(normal_name(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index)))));
    }
  }
  std::erase(certificate.names, "");
}

}  // namespace

std::expected<void, std::string> expect_blocks(const PemSource& source, std::initializer_list<const char*> kinds,
                                               const char* what) {
  const auto labels = pem_labels(source.pem);
  if (!labels) return std::unexpected(source.origin + " has " + labels.error() + "; export it again in PEM form");
  for (const std::string_view label : *labels) {
    if (std::ranges::find(kinds, label) != kinds.end()) continue;
    return std::unexpected(source.origin + " has a " + std::string(label) +
                           " block, which would be ignored; leave only " + what + " in it");
  }
  return {};
}

std::int64_t seconds_since_epoch(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

std::expected<std::vector<X509Pointer>, std::string> read_certificates(const PemSource& source) {
  ERR_clear_error();
  std::vector<X509Pointer> certificates;
  const BioPointer pem = reader(source.pem);
  while (X509* next = PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)) certificates.emplace_back(next);
  // The list ends with "no start line"; any other error is an undecodable block.
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = take_reason("no reason given");
  if (!at_end) {
    return std::unexpected("a certificate in " + source.origin + " cannot be decoded (" + reason +
                           "); export it again in PEM form");
  }
  if (certificates.empty())
    return std::unexpected(source.origin + " holds no certificate; it must hold PEM blocks (BEGIN CERTIFICATE)");
  if (auto whole = expect_blocks(source, bundle_kinds, "certificates"); !whole) return std::unexpected(whole.error());
  return certificates;
}

std::expected<Certificate, std::string> read_certificate(const CertificateSource& source) {
  auto chain = read_certificates({source.certificate_pem, source.origin});
  if (!chain) return std::unexpected(chain.error());
  Certificate certificate;
  certificate.origin = source.origin;
  certificate.leaf = std::move(chain->front());
  certificate.intermediates.assign(std::move_iterator(chain->begin() + 1), std::move_iterator(chain->end()));
  auto key = read_key(source);
  if (!key) return std::unexpected(key.error());
  certificate.key = std::move(*key);
  if (X509_check_private_key(certificate.leaf.get(), certificate.key.get()) != 1) {
    ERR_clear_error();
    return std::unexpected("the private key for " + source.origin +
                           " does not belong to its first certificate; give the key that the certificate was "
                           "requested with, and put the leaf before the intermediates");
  }
  read_names(certificate.leaf.get(), certificate);
  certificate.expiry = seconds_since_epoch(X509_get0_notAfter(certificate.leaf.get()));
  ERR_clear_error();
  return certificate;
}

}  // namespace ebb::wire
