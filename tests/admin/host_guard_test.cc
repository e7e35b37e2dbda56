#include "admin/host_guard.h"

#include <gtest/gtest.h>

namespace ebb::admin {
namespace {

bool accepted(std::string_view authority) {
  return means_this_machine(authority, *base::Address::parse("127.0.0.1:9901"));
}

TEST(HostGuard, AcceptsNamesOfThisMachine) {
  for (const char* authority : {"localhost", "localhost:9901", "LocalHost:1", "localhost.", "a.localhost:80",
                                "127.0.0.1", "127.0.0.1:9901", "127.8.8.8:80", "[::1]", "[::1]:9901", ""}) {
    EXPECT_TRUE(accepted(authority)) << authority;
  }
}

TEST(HostGuard, RefusesAllOthers) {
  for (const char* authority :
       {"example.com", "localhost.example.com", "notlocalhost", "xlocalhost:80", "10.0.0.1:9901",
        "127.0.0.1.example.com", "[2001:db8::1]:80", "[::1", "::1", ":9901", "."}) {
    EXPECT_FALSE(accepted(authority)) << authority;
  }
}

TEST(HostGuard, AcceptsTheAddressThatIsListenedOn) {
  EXPECT_TRUE(means_this_machine("192.0.2.1:80", *base::Address::parse("192.0.2.1:9901")));
}

}  // namespace
}  // namespace ebb::admin
