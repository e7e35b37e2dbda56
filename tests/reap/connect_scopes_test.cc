#include "reap/connect_scopes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::reap {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ConnectScopes, AreWhatTheKernelCanTellByItself) {
  const std::vector<AllowRow> rows = {
      {.netns = {"*"}},
      {.cgroup = {"/kubepods.slice/*", "/system.slice/agent.service/*"}, .port = {443, 6443}},
      {.process = {"*"}, .port = {5432}},
  };
  const ConnectScopes found = connect_scopes(rows);
  EXPECT_THAT(found.scopes,
              ElementsAre(ConnectScope{"", {}}, ConnectScope{"/kubepods.slice", {443, 6443}},
                          ConnectScope{"/system.slice/agent.service", {443, 6443}}, ConnectScope{"", {5432}}));
  EXPECT_EQ(found.rows_left_out, 0U);
}

TEST(ConnectScopes, LeaveOutWhatWouldReachFurtherThanTheRow) {
  for (const AllowRow& row : std::vector<AllowRow>{
           {.netns = {"pod-*"}},
           {.process = {"curl"}},
           {.uid = {1000}},
           {.cgroup = {"/kubepods*"}},    // siblings that are still to come
           {.cgroup = {"/one.service"}},  // not those below it
           {.cgroup = {"/a?b/*"}},
           {.port = {70'000}},
           {.labels = {{"app", "web"}}},
       }) {
    const ConnectScopes found = connect_scopes({&row, 1});
    EXPECT_THAT(found.scopes, IsEmpty());
    EXPECT_EQ(found.rows_left_out, 1U);
  }
}

TEST(ConnectScopes, OfARowArePartlyUsable) {
  const AllowRow row{.cgroup = {"/a/*", "/b"}};
  const ConnectScopes found = connect_scopes({&row, 1});
  EXPECT_THAT(found.scopes, ElementsAre(ConnectScope{"/a", {}}));
  EXPECT_EQ(found.rows_left_out, 1U);
}

}  // namespace
}  // namespace ebb::reap
