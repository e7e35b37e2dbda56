#include "sim/records.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/assert.h"

namespace ebb::sim {

namespace {

constexpr std::size_t hash_bytes = 32;
constexpr std::size_t key_bytes = 16;
constexpr std::size_t tag_bytes = 16;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// HKDF-Expand-Label without a context, for no more than one block of the hash (section 7.1).
std::string expand(const std::string& secret, std::string_view label, std::size_t size) {
  std::string info{'\0', static_cast<char>(size)};
  const std::string full = "tls13 " + std::string(label);
  info += static_cast<char>(full.size());
  info += full;
  info += '\0';    // no context
  info += '\x01';  // the first block
  unsigned char out[hash_bytes];
  unsigned int length = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), bytes_of(info), info.size(), out, &length);
  EBB_ASSERT(length >= size);
  return {reinterpret_cast<const char*>(out), size};
}

}  // namespace

struct RecordSealer::Cipher {
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  Cipher() = default;
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  ~Cipher() { EVP_CIPHER_CTX_free(context); }
};

RecordSealer::RecordSealer(std::string secret, std::uint64_t records)
    : secret_(std::move(secret)), sequence_(records), cipher_(std::make_unique<Cipher>()) {
  use_secret();
}

RecordSealer::~RecordSealer() = default;

void RecordSealer::use_secret() {
  const std::string key = expand(secret_, "key", key_bytes);
  const std::string iv = expand(secret_, "iv", iv_.size());
  std::copy(iv.begin(), iv.end(), iv_.begin());
  EVP_EncryptInit_ex(cipher_->context, EVP_aes_128_gcm(), nullptr, bytes_of(key), nullptr);
}

void RecordSealer::update_keys() {
  secret_ = expand(secret_, "traffic upd", hash_bytes);
  sequence_ = 0;
  use_secret();
}

std::string RecordSealer::seal(Kind kind, std::string_view bytes) {
  const std::size_t length = bytes.size() + 1 + tag_bytes;
  std::string record{'\x17', '\x03', '\x03', static_cast<char>(length >> 8), static_cast<char>(length)};
  std::array<unsigned char, 12> nonce = iv_;
  for (std::size_t i = 0; i < 8; ++i) nonce[11 - i] ^= static_cast<unsigned char>(sequence_ >> (8 * i));
  sequence_ += 1;
  std::string inner(bytes);
  inner += static_cast<char>(kind);
  std::string sealed(inner.size() + tag_bytes, '\0');
  auto* out = reinterpret_cast<unsigned char*>(sealed.data());
  EVP_CIPHER_CTX* context = cipher_->context;
  int size = 0;
  const bool done =
      EVP_EncryptInit_ex(context, nullptr, nullptr, nullptr, nonce.data()) == 1 &&
      EVP_EncryptUpdate(context, nullptr, &size, bytes_of(record), static_cast<int>(record.size())) == 1 &&
      EVP_EncryptUpdate(context, out, &size, bytes_of(inner), static_cast<int>(inner.size())) == 1 &&
      EVP_EncryptFinal_ex(context, out + inner.size(), &size) == 1 &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, tag_bytes, out + inner.size()) == 1;
  EBB_ASSERT(done);
  return record + sealed;
}

std::string key_update(bool asks_back) { return {'\x18', '\0', '\0', '\x01', asks_back ? '\x01' : '\0'}; }

std::string ticket() {
  using namespace std::string_view_literals;
  const std::string body = std::string(
                               "\0\0\x0e\x10"
                               "\x01\x02\x03\x04"
                               "\x01n"
                               "\0\x20"sv) +
                           std::string(32, 't') + std::string("\0\0"sv);
  return std::string{'\x04', '\0', '\0', static_cast<char>(body.size())} + body;
}

}  // namespace ebb::sim
