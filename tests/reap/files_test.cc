#include <gmock/gmock.h>

#include "reap/builders.h"
#include "reap/policy_file.h"
#include "reap/truth_file.h"

namespace ebb::reap {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

std::string refusal_of_policy(std::string_view text) {
  const auto policy = read_policy(text, "dir/reap.yaml");
  return policy ? "" : config::text_of(policy.error());
}

std::string refusal_of_truth(std::string_view text) {
  const auto truth = read_truth(text, "endpoints.yaml");
  return truth ? "" : config::text_of(truth.error());
}

TEST(PolicyFile, AnEmptyOneDoesNothing) {
  const auto policy = read_policy("", "reap.yaml");
  ASSERT_TRUE(policy);
  EXPECT_EQ(*policy, Policy{});
  EXPECT_FALSE(policy->act);
  EXPECT_TRUE(policy->allow.empty());
}

TEST(PolicyFile, EveryKey) {
  const auto policy = read_policy(R"(
act: true
budget: 12
every: 3s
endpoints: list.yaml
metrics: 127.0.0.1:9904
end: {removed: false, unanswered: 30s, idle: 2h}
allow:
  - {netns: ["cni-*"], process: [java], cgroup: [/kubepods*], uid: [1000], port: [443], labels: {app: web}}
)",
                                  "dir/reap.yaml");
  ASSERT_TRUE(policy) << config::text_of(policy.error());
  EXPECT_EQ(*policy, (Policy{.act = true,
                             .budget = 12,
                             .every = seconds{3},
                             .endpoints = "dir/list.yaml",
                             .metrics = address("127.0.0.1:9904"),
                             .end = {.removed = false, .unanswered = seconds{30}, .idle = minutes{120}},
                             .allow = {{.netns = {"cni-*"},
                                        .process = {"java"},
                                        .cgroup = {"/kubepods*"},
                                        .uid = {1000},
                                        .port = {443},
                                        .labels = {{"app", "web"}}}}}));
}

TEST(PolicyFile, RefusalsNamePlaceKeyAndRemedy) {
  EXPECT_THAT(refusal_of_policy("akt: true"),
              AllOf(HasSubstr("dir/reap.yaml:1:1: akt"), HasSubstr("did you mean `act`")));
  EXPECT_THAT(refusal_of_policy("act: yes"), HasSubstr("expected `false`, `true`"));
  EXPECT_THAT(refusal_of_policy("allow:\n  - {}"),
              AllOf(HasSubstr("reap.yaml:2:"), HasSubstr("allow[0]"), HasSubstr("`netns: [\"*\"]`")));
  EXPECT_THAT(refusal_of_policy("allow:\n  - netns: []"), HasSubstr("the list is empty"));
  EXPECT_THAT(refusal_of_policy("budget: 0"), HasSubstr("act: false"));
  EXPECT_THAT(refusal_of_policy("end: {unanswered: 200ms}"), AllOf(HasSubstr("end.unanswered"), HasSubstr("1s")));
  EXPECT_THAT(refusal_of_policy("every: 0s"), HasSubstr("every"));
  EXPECT_THAT(refusal_of_policy("metrics: 0.0.0.0:9904"), HasSubstr("loopback"));
}

TEST(TruthFile, ServicesGoneAndPlaces) {
  const auto truth = read_truth(R"(
services:
  - name: shop/api
    addresses: [10.96.0.1:443, "[fd00::1]:443"]
    grace: 10s
    endpoints:
      - address: 10.1.0.5:8443
      - {address: 10.1.0.6:8443, state: leaving, grace: 5s}
      - {address: 10.1.0.7:8443, state: gone}
  - {name: empty, endpoints: []}
gone: [10.9.0.0/16, 10.8.0.1:80]
places:
  - {netns: [cni-1], labels: {app: web}}
)",
                                "endpoints.yaml");
  ASSERT_TRUE(truth) << config::text_of(truth.error());
  ASSERT_EQ(truth->services.size(), 2U);
  const Service& service = truth->services[0];
  EXPECT_EQ(service.addresses.size(), 2U);
  EXPECT_EQ(service.grace, seconds{10});
  ASSERT_EQ(service.endpoints.size(), 3U);
  EXPECT_EQ(service.endpoints[0].state, Presence::ready);
  EXPECT_EQ(service.endpoints[1].state, Presence::leaving);
  EXPECT_EQ(service.endpoints[1].grace, seconds{5});
  EXPECT_EQ(service.endpoints[2].state, Presence::gone);
  ASSERT_EQ(truth->gone.size(), 1U);
  EXPECT_TRUE(truth->gone[0].contains(address("10.9.4.4:1")));
  EXPECT_TRUE(truth->gone[0].contains(address("10.8.0.1:80")));
  EXPECT_FALSE(truth->gone[0].contains(address("10.8.0.1:81")));
  ASSERT_EQ(truth->places.size(), 1U);
  EXPECT_EQ(truth->places[0].labels, (std::vector<Label>{{"app", "web"}}));
}

TEST(TruthFile, APlainListIsOfThoseThatAreGone) {
  const auto truth = read_truth("- 10.1.0.5\n- 10.1.0.6:80\n", "gone.yaml");
  ASSERT_TRUE(truth) << config::text_of(truth.error());
  EXPECT_TRUE(truth->services.empty());
  ASSERT_EQ(truth->gone.size(), 1U);
  EXPECT_TRUE(truth->gone[0].contains(address("10.1.0.5:443")));
  EXPECT_TRUE(truth->gone[0].contains(address("10.1.0.6:80")));
}

TEST(TruthFile, JsonIsReadAsWell) {
  const auto truth =
      read_truth(R"({"services": [{"name": "a", "endpoints": [{"address": "10.1.0.5:80"}]}]})", "list.json");
  ASSERT_TRUE(truth) << config::text_of(truth.error());
  EXPECT_EQ(truth->services[0].endpoints[0].address, address("10.1.0.5:80"));
}

TEST(TruthFile, AnEmptyOneSaysNothing) {
  const auto truth = read_truth("", "endpoints.yaml");
  ASSERT_TRUE(truth);
  EXPECT_TRUE(truth->services.empty() && truth->gone.empty());
}

TEST(TruthFile, RefusalsNamePlaceKeyAndRemedy) {
  EXPECT_THAT(
      refusal_of_truth("services:\n  - {name: a, endpoints: [{address: host:80}]}"),
      AllOf(HasSubstr("endpoints.yaml:2:"), HasSubstr("services[0].endpoints[0].address"), HasSubstr("10.1.0.5:8080")));
  EXPECT_THAT(refusal_of_truth("services:\n  - {name: a, endpoints: [{address: \"10.1.0.5:0\"}]}"), HasSubstr("port"));
  EXPECT_THAT(refusal_of_truth("services:\n  - {name: a, endpoints: [{address: 10.1.0.5:80, state: dead}]}"),
              HasSubstr("`gone`"));
  EXPECT_THAT(refusal_of_truth("services:\n  - {name: a}"), HasSubstr("`endpoints` is missing"));
  EXPECT_THAT(refusal_of_truth("- nobody"), HasSubstr("10.1.0.0/24"));
  EXPECT_THAT(refusal_of_truth("gone: [10.1.0.5/8]"), HasSubstr("gone[0]"));
}

TEST(TruthFile, WhatIsSaidTwiceIsRefused) {
  constexpr const char* twice = R"(services:
  - {name: a, addresses: [10.96.0.1:443], endpoints: [{address: 10.1.0.5:80}, {address: 10.1.0.5:80}]}
  - {name: a, addresses: [10.96.0.1:443], endpoints: []}
)";
  EXPECT_THAT(refusal_of_truth(twice), AllOf(HasSubstr("services[0].endpoints[1]"), HasSubstr("services[1].name"),
                                             HasSubstr("services[1].addresses[0]")));
}

}  // namespace
}  // namespace ebb::reap
