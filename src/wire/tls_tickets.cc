#include "wire/tls_tickets.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace ebb::wire {

namespace {

TicketKeys::Key make_key() {
  TicketKeys::Key key;
  // A predictable ticket key would expose every session that it seals: without entropy, abort.
  EBB_ASSERT(RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) == 1);
  EBB_ASSERT(RAND_priv_bytes(key.aes.data(), static_cast<int>(key.aes.size())) == 1);
  EBB_ASSERT(RAND_priv_bytes(key.hmac.data(), static_cast<int>(key.hmac.size())) == 1);
  return key;
}

// A copy of a key on the stack, wiped at the end of its scope.
struct BorrowedKey {
  TicketKeys::Key key;
  ~BorrowedKey() { OPENSSL_cleanse(&key, sizeof(key)); }
};

bool prepare(TicketKeys::Key& key, const unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, bool sealing) {
  // Fetched once: the fetch behind EVP_aes_256_cbc() takes locks at each use in OpenSSL 3.0.
  static const EVP_CIPHER* const aes = EVP_CIPHER_fetch(nullptr, "AES-256-CBC", nullptr);
  static char digest[] = "SHA256";
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, key.hmac.data(), key.hmac.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_CTX_set_params(mac, parameters) == 1 &&
         EVP_CipherInit_ex(cipher, aes, nullptr, key.aes.data(), iv, sealing ? 1 : 0) == 1;
}

// Results as SSL_CTX_set_tlsext_ticket_key_evp_cb(3) defines them.
enum TicketResult : int { ticket_error = -1, ticket_unknown = 0, ticket_good = 1, ticket_renew = 2 };

int seal_or_open(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                 int sealing) {
  const auto* keys = static_cast<const TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  BorrowedKey borrowed;
  if (sealing != 0) {
    borrowed.key = keys->newest();
    std::copy(borrowed.key.name.begin(), borrowed.key.name.end(), name);
    if (RAND_bytes(iv, EVP_MAX_IV_LENGTH) != 1) return ticket_error;
    return prepare(borrowed.key, iv, cipher, mac, true) ? ticket_good : ticket_error;
  }
  bool is_newest = false;
  if (!keys->find(name, borrowed.key, is_newest)) return ticket_unknown;
  if (!prepare(borrowed.key, iv, cipher, mac, false)) return ticket_error;
  // In TLS 1.3 a client should use a ticket only once (RFC 8446 appendix C.4), so each resumption brings the next.
  return is_newest && SSL_version(ssl) != TLS1_3_VERSION ? ticket_good : ticket_renew;
}

}  // namespace

TicketKeys::TicketKeys() {
  keys_.reserve(key_count + 1);  // growth would leave copies of keys in freed memory
  keys_.push_back(make_key());
}

TicketKeys::~TicketKeys() { OPENSSL_cleanse(keys_.data(), keys_.size() * sizeof(Key)); }

void TicketKeys::rotate() {
  BorrowedKey fresh{make_key()};
  std::lock_guard lock(mutex_);
  keys_.insert(keys_.begin(), fresh.key);
  if (keys_.size() <= key_count) return;
  OPENSSL_cleanse(&keys_.back(), sizeof(Key));
  keys_.pop_back();
}

TicketKeys::Key TicketKeys::newest() const {
  std::lock_guard lock(mutex_);
  return keys_.front();
}

bool TicketKeys::find(const unsigned char* name, Key& out, bool& is_newest) const {
  std::lock_guard lock(mutex_);
  for (const Key& key : keys_) {
    if (std::memcmp(key.name.data(), name, key.name.size()) != 0) continue;
    out = key;
    is_newest = &key == &keys_.front();
    return true;
  }
  return false;
}

void use_ticket_keys(SSL_CTX* context, const TicketKeys& keys) {
  SSL_CTX_set_app_data(context, const_cast<TicketKeys*>(&keys));
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, seal_or_open);
}

}  // namespace ebb::wire
