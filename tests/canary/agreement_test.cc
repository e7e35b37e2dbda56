#include "canary/agreement.h"

#include <gtest/gtest.h>

namespace ebb::canary {
namespace {

using std::chrono::seconds;

class AgreementTest : public testing::Test {
 protected:
  void shows(const std::string& digest) { agreement_.note(digest, ours_, now_); }
  std::optional<std::string> stale() const { return agreement_.stale(ours_, now_); }
  void pass(int count) { now_ += seconds{count}; }

  Agreement agreement_{{.settle = seconds{30}, .forget = seconds{40}}};
  std::string ours_ = "new";
  base::Instant now_{seconds{1000}};
};

TEST_F(AgreementTest, WhoShowsOursIsNeverStale) {
  for (int i = 0; i < 100; ++i, pass(5)) {
    shows("new");
    EXPECT_EQ(stale(), std::nullopt);
  }
}

TEST_F(AgreementTest, WhoFollowsInTimeIsNotStale) {
  for (int i = 0; i < 5; ++i, pass(5)) {
    shows("old");
    EXPECT_EQ(stale(), std::nullopt);
  }
  for (int i = 0; i < 20; ++i, pass(5)) shows("new");
  shows("old");  // rolled back there first
  EXPECT_EQ(stale(), std::nullopt);
}

TEST_F(AgreementTest, WhoDoesNotFollowIsStaleOnceSettlingIsOver) {
  for (int i = 0; i < 6; ++i, pass(5)) {
    shows("old");
    EXPECT_EQ(stale(), std::nullopt);
  }
  EXPECT_EQ(stale(), "old");
  ours_ = "newer";
  EXPECT_EQ(stale(), "old") << "another change of ours does not excuse it";
  shows("old");
  EXPECT_EQ(stale(), "old");
  ours_ = "old";
  EXPECT_EQ(stale(), std::nullopt) << "we have followed";
}

TEST_F(AgreementTest, WhoMovesFromOneChangeToTheNextIsNotWedged) {
  for (const std::string& digest : {"one", "two", "three"}) {
    for (int i = 0; i < 5; ++i, pass(5)) {
      shows(digest);
      EXPECT_EQ(stale(), std::nullopt) << digest;
    }
  }
}

TEST_F(AgreementTest, WhoIsSeldomAskedIsStaleAllTheSame) {
  agreement_ = Agreement({.settle = seconds{1}, .forget = seconds{11}});
  shows("old");
  pass(5);
  EXPECT_EQ(stale(), "old");
  shows("old");
  EXPECT_EQ(stale(), "old") << "it was not forgotten between two probes";
}

TEST_F(AgreementTest, OneWedgedWorkerIsSeenAmongGoodOnes) {
  for (int i = 0; i < 6; ++i, pass(5)) {
    shows("old");
    shows("new");
  }
  EXPECT_EQ(stale(), "old");
}

TEST_F(AgreementTest, WhoSaysNothingIsStaleToo) {
  shows("");
  pass(30);
  EXPECT_EQ(stale(), "");
}

}  // namespace
}  // namespace ebb::canary
