#include "gate/flow_table.h"

#include <gtest/gtest.h>

namespace ebb::gate {
namespace {

base::Address address(const char* text) { return *base::Address::parse(text); }

FlowKey key(const char* client, const char* local = "192.0.2.1:53", base::Handle listener = {0, 1}) {
  return {listener, address(client), address(local)};
}

TEST(FlowTable, FindsAFlowByListenerClientAndLocalAddress) {
  FlowTable table(1);
  const Flow& flow = table.add(key("198.51.100.7:4000"));
  EXPECT_EQ(table.find(key("198.51.100.7:4000")), &flow);
  EXPECT_EQ(table.find(flow.self), &flow);
  EXPECT_EQ(table.find(key("198.51.100.7:4001")), nullptr);
  EXPECT_EQ(table.find(key("198.51.100.8:4000")), nullptr);
  EXPECT_EQ(table.find(key("198.51.100.7:4000", "192.0.2.2:53")), nullptr);
  EXPECT_EQ(table.find(key("198.51.100.7:4000", "192.0.2.1:53", {0, 3})), nullptr) << "a listener that came later";
}

TEST(FlowTable, TellsAddressesOfBothFamiliesApart) {
  FlowTable table(1);
  const Flow& four = table.add(key("198.51.100.7:4000"));
  const Flow& six = table.add(key("[2001:db8::1]:4000", "[2001:db8::2]:53"));
  EXPECT_EQ(table.find(four.key), &four);
  EXPECT_EQ(table.find(six.key), &six);
  EXPECT_EQ(table.find(key("[2001:db8::3]:4000", "[2001:db8::2]:53")), nullptr);
}

TEST(FlowTable, KnowsWhichFlowWasUsedLeastRecently) {
  FlowTable table(1);
  EXPECT_EQ(table.least_recently_used(), nullptr);
  Flow& first = table.add(key("198.51.100.7:1"));
  Flow& second = table.add(key("198.51.100.7:2"));
  EXPECT_EQ(table.least_recently_used(), &first);
  table.use(first);
  EXPECT_EQ(table.least_recently_used(), &second);
  table.erase(second.self);
  EXPECT_EQ(table.least_recently_used(), &first);
}

TEST(FlowTable, ForgetsAnErasedFlowUnderAllItsNames) {
  FlowTable table(1);
  const base::Handle handle = table.add(key("198.51.100.7:1")).self;
  table.erase(handle);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(table.find(key("198.51.100.7:1")), nullptr);
  EXPECT_NE(table.add(key("198.51.100.7:1")).self, handle);
  table.erase(handle);  // once more: harmless
  EXPECT_EQ(table.size(), 1u);
}

TEST(FlowTable, GathersTheFlowsOfOneListener) {
  FlowTable table(1);
  table.add(key("198.51.100.7:1", "192.0.2.1:53", {0, 1}));
  const base::Handle other = table.add(key("198.51.100.7:1", "192.0.2.1:53", {1, 1})).self;
  EXPECT_EQ(table.of_listener({1, 1}), std::vector{other});
  EXPECT_EQ(table.all().size(), 2u);
}

TEST(FlowTable, HoldsThousands) {
  FlowTable table(42);
  for (std::uint16_t port = 1; port <= 20'000; ++port) {
    FlowKey one = key("198.51.100.7:1");
    one.client.set_port(port);
    table.add(one).bytes_sent = port;
  }
  for (std::uint16_t port = 1; port <= 20'000; ++port) {
    FlowKey one = key("198.51.100.7:1");
    one.client.set_port(port);
    ASSERT_NE(table.find(one), nullptr);
    ASSERT_EQ(table.find(one)->bytes_sent, port);
  }
}

}  // namespace
}  // namespace ebb::gate
