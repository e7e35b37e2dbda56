#include "routes/address_set.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace ebb::routes {
namespace {

AddressSet set_of(std::initializer_list<const char*> texts) {
  std::vector<Cidr> ranges;
  for (const char* text : texts) {
    const auto range = Cidr::parse(text);
    EXPECT_TRUE(range) << text << ": " << range.error();
    if (range) ranges.push_back(*range);
  }
  return AddressSet(ranges);
}

bool holds(const AddressSet& set, const char* address) { return set.contains(*parse_ip(address)); }

TEST(Cidr, IsAnAddressOrANetwork) {
  for (const char* text : {"10.0.0.0/8", "0.0.0.0/0", "192.0.2.7/32", "fd00::/8", "::/0", "2001:db8::1/128"}) {
    EXPECT_EQ(Cidr::parse(text)->text(), text);
  }
  EXPECT_EQ(Cidr::parse("192.0.2.7")->text(), "192.0.2.7/32");
  EXPECT_EQ(Cidr::parse("::1")->text(), "::1/128");
  EXPECT_EQ(Cidr::parse("::ffff:10.0.0.0/104")->text(), "10.0.0.0/8");
}

TEST(Cidr, RefusesWhatIsMalformed) {
  for (const char* text : {"",
                           "/8",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/08",
                           "10.0.0.0/8x",
                           "10.0/8",
                           "10.0.0.0.0/8",
                           "10.0.0.256",
                           "010.0.0.1",
                           "fd00::/129",
                           "fd00:::/8",
                           "shop.test",
                           " 10.0.0.0/8",
                           "10.0.0.0/8 ",
                           "10.0.0.0/8,10.1.0.0/16",
                           "::ffff:10.0.0.0/8",
                           "[::1]",
                           "10.0.0.1:80"}) {
    EXPECT_FALSE(Cidr::parse(text)) << text;
  }
  EXPECT_FALSE(Cidr::parse(std::string_view("10.0.0.1\0", 9)));
}

TEST(Cidr, NamesTheNetworkWhenBitsStandBehindTheMask) {
  EXPECT_EQ(Cidr::parse("10.1.2.3/8").error(), "it has bits behind its mask; the network is 10.0.0.0/8");
  EXPECT_EQ(Cidr::parse("fd00::1/64").error(), "it has bits behind its mask; the network is fd00::/64");
}

TEST(AddressSet, HoldsTheFirstAndTheLastAddressOfANetworkAndNoneBesides) {
  const AddressSet set = set_of({"10.1.0.0/16", "192.0.2.7", "fd00::/8"});
  for (const char* address : {"10.1.0.0", "10.1.255.255", "192.0.2.7", "fd00::", "fdff:ffff::1"}) {
    EXPECT_TRUE(holds(set, address)) << address;
  }
  for (const char* address : {"10.0.255.255", "10.2.0.0", "192.0.2.6", "192.0.2.8", "fc00::1", "fe00::", "::1"}) {
    EXPECT_FALSE(holds(set, address)) << address;
  }
  EXPECT_FALSE(set.contains({}));
  EXPECT_FALSE(holds({}, "10.1.0.0"));
}

TEST(AddressSet, TakesAMappedAddressForTheIpv4OneAndKeepsTheFamiliesApart) {
  EXPECT_TRUE(holds(set_of({"10.0.0.0/8"}), "::ffff:10.1.2.3"));
  EXPECT_FALSE(holds(set_of({"::/0"}), "10.1.2.3"));
  EXPECT_FALSE(holds(set_of({"::/0"}), "::ffff:10.1.2.3"));
  EXPECT_FALSE(holds(set_of({"0.0.0.0/0"}), "::a01:203"));
}

TEST(AddressSet, AgreesWithAWalkOverOverlappingNetworks) {
  base::Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Cidr> ranges;
    for (std::uint64_t i = rng.below(12); i > 0; --i) {
      const std::string text = "10.0." + std::to_string(rng.below(4) * 64) + ".0/" + std::to_string(18 + rng.below(7));
      if (const auto range = Cidr::parse(text)) ranges.push_back(*range);
    }
    const AddressSet set(ranges);
    for (int i = 0; i < 100; ++i) {
      const std::string text = "10.0." + std::to_string(rng.below(256)) + "." + std::to_string(rng.below(256));
      const Cidr single = *Cidr::parse(text);
      bool expected = false;
      for (const Cidr& range : ranges) expected |= range.first <= single.first && single.first <= range.last;
      ASSERT_EQ(holds(set, text.c_str()), expected) << text;
    }
  }
}

TEST(AddressFilter, LetsDenyWinOverAllowAndAnEmptyAllowAdmitAll) {
  const AddressFilter both{set_of({"10.0.0.0/8"}), set_of({"10.1.0.0/16"})};
  EXPECT_TRUE(both.admits(*parse_ip("10.2.0.1")));
  EXPECT_FALSE(both.admits(*parse_ip("10.1.0.1")));
  EXPECT_FALSE(both.admits(*parse_ip("192.0.2.1")));
  const AddressFilter deny_only{{}, set_of({"10.1.0.0/16"})};
  EXPECT_TRUE(deny_only.admits(*parse_ip("192.0.2.1")));
  EXPECT_FALSE(deny_only.admits(*parse_ip("::ffff:10.1.0.1")));
}

}  // namespace
}  // namespace ebb::routes
