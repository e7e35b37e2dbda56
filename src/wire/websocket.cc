#include "wire/websocket.h"

#include <openssl/evp.h>

#include <cstring>
#include <span>

namespace ebb::wire {

namespace {

template <std::size_t size>
std::array<char, size> base64(std::span<const unsigned char> bytes) {
  std::array<unsigned char, size + 1> text;  // OpenSSL ends it with a zero
  EVP_EncodeBlock(text.data(), bytes.data(), static_cast<int>(bytes.size()));
  std::array<char, size> out;
  std::memcpy(out.data(), text.data(), size);
  return out;
}

}  // namespace

std::array<char, 24> websocket_key(std::uint64_t high, std::uint64_t low) {
  std::array<unsigned char, 16> bytes;
  std::memcpy(bytes.data(), &high, sizeof(high));
  std::memcpy(bytes.data() + sizeof(high), &low, sizeof(low));
  return base64<24>(bytes);
}

std::array<char, 28> websocket_accept(std::string_view key) {
  constexpr std::string_view constant = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  std::array<unsigned char, 20> digest;
  EVP_MD_CTX* hash = EVP_MD_CTX_new();
  EVP_DigestInit_ex(hash, EVP_sha1(), nullptr);
  EVP_DigestUpdate(hash, key.data(), key.size());
  EVP_DigestUpdate(hash, constant.data(), constant.size());
  EVP_DigestFinal_ex(hash, digest.data(), nullptr);
  EVP_MD_CTX_free(hash);
  return base64<28>(digest);
}

}  // namespace ebb::wire
