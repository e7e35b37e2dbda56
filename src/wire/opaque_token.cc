#include "wire/opaque_token.h"

#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace ebb::wire {

OpaqueToken opaque_token(std::string_view purpose, std::uint64_t number) {
  std::string input(purpose);
  input += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) input += static_cast<char>(number >> shift);
  std::array<unsigned char, 32> digest;
  EVP_Digest(input.data(), input.size(), digest.data(), nullptr, EVP_sha256(), nullptr);

  constexpr std::size_t bytes = 12;
  std::array<unsigned char, 17> text;  // OpenSSL ends it with a zero
  EVP_EncodeBlock(text.data(), digest.data(), bytes);
  OpaqueToken token;
  std::memcpy(token.characters.data(), text.data(), token.characters.size());
  std::ranges::replace(token.characters, '+', '-');
  std::ranges::replace(token.characters, '/', '_');
  return token;
}

}  // namespace ebb::wire
