#include "reap/allow.h"

#include <gtest/gtest.h>

#include "reap/builders.h"

namespace ebb::reap {
namespace {

const Label labels[] = {{"app", "web"}, {"tier", "front"}};

Belonging belonging() {
  return {.netns = "cni-1234",
          .process = "java",
          .cgroup = "/kubepods/pod7/c1",
          .uid = 1000,
          .peer = address("10.96.0.1:443"),
          .real_peer = address("10.1.0.5:8443"),
          .labels = labels};
}

TEST(Allow, NothingByDefault) {
  EXPECT_EQ(allowed_by({}, belonging()), nullptr);
  const AllowRow nothing[] = {{}};
  EXPECT_EQ(allowed_by(nothing, belonging()), nullptr);
}

TEST(Allow, EachKindOfCondition) {
  struct Case {
    const char* what;
    AllowRow row;
    bool allowed;
  };
  const Case cases[] = {
      {"netns", {.netns = {"other", "cni-1234"}}, true},
      {"netns pattern", {.netns = {"cni-*"}}, true},
      {"another netns", {.netns = {"cni-12"}}, false},
      {"process", {.process = {"java"}}, true},
      {"another process", {.process = {"jav"}}, false},
      {"cgroup", {.cgroup = {"/kubepods/*"}}, true},
      {"another cgroup", {.cgroup = {"/system.slice/*"}}, false},
      {"uid", {.uid = {0, 1000}}, true},
      {"another uid", {.uid = {0}}, false},
      {"port of the service", {.port = {443}}, true},
      {"real port", {.port = {8443}}, true},
      {"another port", {.port = {80}}, false},
      {"label", {.labels = {{"app", "web"}}}, true},
      {"all labels", {.labels = {{"tier", "front"}, {"app", "web"}}}, true},
      {"one label too many", {.labels = {{"app", "web"}, {"team", "a"}}}, false},
      {"another value", {.labels = {{"app", "db"}}}, false},
      {"two kinds", {.netns = {"cni-*"}, .port = {443}}, true},
      {"one of two kinds", {.netns = {"cni-*"}, .port = {80}}, false},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(allowed_by(std::span(&each.row, 1), belonging()) != nullptr, each.allowed) << each.what;
  }
}

TEST(Allow, WhatCouldNotBeFoundOutMatchesNoCondition) {
  Belonging unknown = belonging();
  unknown.process = {};
  unknown.cgroup = {};
  const AllowRow by_process[] = {{.process = {"*"}}};
  const AllowRow by_cgroup[] = {{.cgroup = {"*"}}};
  EXPECT_EQ(allowed_by(by_process, unknown), nullptr);
  EXPECT_EQ(allowed_by(by_cgroup, unknown), nullptr);
}

TEST(Allow, OnlyNamespacesThatARowCouldMatchAreLookedInto) {
  const AllowRow rows[] = {{.netns = {"cni-*"}, .port = {443}}};
  EXPECT_TRUE(may_allow_in(rows, "cni-1"));
  EXPECT_FALSE(may_allow_in(rows, "this"));
  EXPECT_FALSE(may_allow_in({}, "this"));
  const AllowRow anywhere[] = {{.port = {443}}};
  EXPECT_TRUE(may_allow_in(anywhere, "this"));
}

TEST(Allow, PlacesGiveLabelsToWhatRunsThere) {
  EXPECT_TRUE(is_at({.netns = {"cni-*"}}, "cni-1", ""));
  EXPECT_FALSE(is_at({.netns = {"cni-*"}, .cgroup = {"/a"}}, "cni-1", ""));
  EXPECT_TRUE(is_at({.cgroup = {"/a/*"}}, "this", "/a/b"));
  EXPECT_FALSE(is_at({}, "this", "/a"));
}

}  // namespace
}  // namespace ebb::reap
