#include "wire/opaque_token.h"

#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace ebb::wire {
namespace {

// Routers of different versions serve the same clients during an update: the text must never change. The expected one
// is `printf 'sticky\0\0\0\0\0\0\0\0\x2a' | sha256sum`, its first 12 bytes in base64url.
TEST(OpaqueToken, IsTheSameInEveryProcessAndVersion) {
  EXPECT_EQ(opaque_token("sticky", 42).view(), "-gin2Zwo54FGsQWG");
}

TEST(OpaqueToken, DiffersByNumberAndByPurpose) {
  std::set<std::string> seen;
  for (std::uint64_t number = 0; number < 1000; ++number) {
    seen.emplace(opaque_token("sticky", number).view());
    seen.emplace(opaque_token("other", number).view());
  }
  EXPECT_EQ(seen.size(), 2000u);
}

TEST(OpaqueToken, IsMadeOfCharactersThatACookieMayHold) {
  for (std::uint64_t number = 0; number < 1000; ++number) {
    for (const char c : opaque_token("sticky", number).view()) {
      EXPECT_TRUE(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_') << c;
    }
  }
}

}  // namespace
}  // namespace ebb::wire
