#include "wire/websocket.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ebb::wire {
namespace {

TEST(Websocket, AcceptIsThatOfTheExampleInTheStandard) {
  const auto accept = websocket_accept("dGhlIHNhbXBsZSBub25jZQ==");
  EXPECT_EQ(std::string(accept.data(), accept.size()), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

TEST(Websocket, KeyIsSixteenBytesInBase64AndFollowsItsNumbers) {
  std::set<std::string> keys;
  for (const std::uint64_t low : {0u, 1u, 2u}) {
    const auto key = websocket_key(7, low);
    keys.emplace(key.data(), key.size());
    EXPECT_TRUE(std::string(key.data(), key.size()).ends_with("=="));
  }
  EXPECT_EQ(keys.size(), 3u);
}

}  // namespace
}  // namespace ebb::wire
