// The sending half of TLS 1.3's record layer (RFC 8446 section 5), apart from OpenSSL, which would not split a message,
// send half of one, or change its keys in the middle of an answer. Knows one suite: TLS_AES_128_GCM_SHA256.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ebb::sim {

class RecordSealer {
 public:
  enum Kind : std::uint8_t { alert = 21, handshake = 22, application_data = 23 };
  static constexpr std::size_t overhead = 5 + 1 + 16;

  // `secret`: of application traffic in this direction. So many records went out under it already.
  RecordSealer(std::string secret, std::uint64_t records);
  ~RecordSealer();
  RecordSealer(const RecordSealer&) = delete;
  RecordSealer& operator=(const RecordSealer&) = delete;

  std::string seal(Kind kind, std::string_view bytes);
  void update_keys();  // behind a KeyUpdate (section 7.2)

 private:
  struct Cipher;
  void use_secret();

  std::string secret_;
  std::array<unsigned char, 12> iv_{};
  std::uint64_t sequence_;
  std::unique_ptr<Cipher> cipher_;
};

std::string key_update(bool asks_back);  // the message (section 4.6.3)
std::string ticket();                    // one that opens nothing (section 4.6.1)

}  // namespace ebb::sim
