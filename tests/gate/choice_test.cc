#include "gate/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ebb::gate {
namespace {

using testing::ElementsAre;

std::vector<Candidate> with_weights(const std::vector<std::uint32_t>& weights) {
  std::vector<Candidate> candidates;
  base::Rng identities(7);
  for (const std::uint32_t weight : weights) candidates.push_back({.identity = identities.next(), .weight = weight});
  return candidates;
}

template <class Choose>
std::vector<int> many(std::vector<Candidate>& candidates, int times, Choose choose) {
  std::vector<int> counts(candidates.size());
  for (int i = 0; i < times; ++i) counts[choose(candidates)] += 1;
  return counts;
}

std::vector<std::size_t> turns(std::vector<Candidate>& candidates, int times) {
  std::vector<std::size_t> taken;
  for (int i = 0; i < times; ++i) taken.push_back(next_turn(candidates));
  return taken;
}

TEST(NextTurn, SpreadsTheTurnsOfAHeavyOneOverTheRound) {
  auto candidates = with_weights({5, 1, 1});
  EXPECT_THAT(turns(candidates, 7), ElementsAre(0, 0, 1, 0, 2, 0, 0));
}

TEST(NextTurn, GivesExactPartsInEveryRound) {
  auto candidates = with_weights({100, 256, 1, 43});
  for (int round = 0; round < 3; ++round) {
    EXPECT_THAT(many(candidates, 400, next_turn), ElementsAre(100, 256, 1, 43));
  }
}

TEST(NextTurn, ForgetsOldWeightsWithinARound) {
  auto candidates = with_weights({256, 1});
  for (int i = 0; i < 129; ++i) next_turn(candidates);
  candidates[0].weight = 1;
  EXPECT_NEAR(many(candidates, 100, next_turn)[0], 50, 2);
}

TEST(LeastBusy, TakesTheLeastForItsWeight) {
  auto candidates = with_weights({1, 4});
  candidates[0].active = 1;
  candidates[1].active = 6;  // 7/4 is less than 2/1
  EXPECT_THAT(many(candidates, 10, least_busy), ElementsAre(0, 10));
}

TEST(LeastBusy, EqualsTakeTurns) {
  auto candidates = with_weights({1, 1, 1});
  candidates[0].active = 9;
  candidates[1].active = candidates[2].active = 3;
  EXPECT_THAT(many(candidates, 10, least_busy), ElementsAre(0, 5, 5));
}

TEST(LeastBusy, WeightsHoldForAQuietBackend) {
  auto candidates = with_weights({1, 4, 5});
  EXPECT_THAT(many(candidates, 100, least_busy), ElementsAre(10, 40, 50));
}

TEST(LessBusyOfTwo, NeverTakesTheBusiestOfEquals) {
  auto candidates = with_weights({1, 1, 1, 1});
  for (std::uint32_t i = 0; i < 4; ++i) candidates[i].active = 1 + i;
  base::Rng random(1);
  const auto counts = many(candidates, 12'000, [&](auto& all) { return less_busy_of_two(all, random); });
  // Of the six pairs the first is in three, the second is the lesser in two, the third in one.
  EXPECT_NEAR(counts[0], 6000, 300);
  EXPECT_NEAR(counts[1], 4000, 300);
  EXPECT_NEAR(counts[2], 2000, 300);
  EXPECT_EQ(counts[3], 0);
}

TEST(LessBusyOfTwo, WeightsHoldForAQuietBackend) {
  auto candidates = with_weights({1, 3, 6});
  base::Rng random(1);
  const auto counts = many(candidates, 10'000, [&](auto& all) { return less_busy_of_two(all, random); });
  EXPECT_NEAR(counts[0], 1000, 200);
  EXPECT_NEAR(counts[1], 3000, 300);
  EXPECT_NEAR(counts[2], 6000, 300);
}

TEST(LessBusyOfTwo, OneIsEnough) {
  auto candidates = with_weights({3});
  base::Rng random(1);
  candidates[0].active = 5;
  EXPECT_EQ(less_busy_of_two(candidates, random), 0u);
}

constexpr int keys = 20'000;

std::vector<std::uint64_t> owners(const std::vector<Candidate>& candidates) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t key = 0; key < keys; ++key) all.push_back(candidates[owner_of_key(candidates, key)].identity);
  return all;
}

int differences(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  int count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

std::vector<int> parts(const std::vector<Candidate>& candidates) {
  std::vector<int> counts;
  const auto all = owners(candidates);
  for (const Candidate& candidate : candidates) {
    counts.push_back(static_cast<int>(std::ranges::count(all, candidate.identity)));
  }
  return counts;
}

TEST(OwnerOfKey, PartsFollowTheWeights) {
  for (const int count : parts(with_weights({1, 1, 1, 1, 1}))) EXPECT_NEAR(count, keys / 5, keys / 100);
  const auto counts = parts(with_weights({1, 2, 7}));
  EXPECT_NEAR(counts[0], keys / 10, keys / 100);
  EXPECT_NEAR(counts[1], keys / 5, keys / 100);
  EXPECT_NEAR(counts[2], keys * 7 / 10, keys / 100);
}

TEST(OwnerOfKey, OrderDoesNotMatter) {
  auto candidates = with_weights({1, 2, 3, 4});
  const auto before = owners(candidates);
  std::ranges::reverse(candidates);
  EXPECT_EQ(owners(candidates), before);
}

TEST(OwnerOfKey, OneThatGoesLosesOnlyItsOwnKeys) {
  for (const auto& weights : {std::vector<std::uint32_t>(8, 1), std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8}}) {
    auto candidates = with_weights(weights);
    const auto before = owners(candidates);
    const std::uint64_t gone = candidates[3].identity;
    candidates.erase(candidates.begin() + 3);
    const auto after = owners(candidates);
    EXPECT_EQ(differences(before, after), std::ranges::count(before, gone));
  }
}

TEST(OwnerOfKey, OneThatComesTakesOnlyItsOwnPart) {
  auto candidates = with_weights(std::vector<std::uint32_t>(9, 1));
  const auto after = owners(candidates);
  const std::uint64_t come = candidates.back().identity;
  candidates.pop_back();
  const auto before = owners(candidates);
  EXPECT_EQ(differences(before, after), std::ranges::count(after, come));
  EXPECT_NEAR(differences(before, after), keys / 9, keys / 100);
}

TEST(OwnerOfKey, NoEndpointGetsMuchMoreThanItsShareOfTheWork) {
  // Everybody asks for the same few keys, and nothing ends.
  auto candidates = with_weights({1, 1, 2, 4});
  for (int i = 0; i < 8000; ++i) candidates[owner_of_key(candidates, i % 3)].active += 1;
  for (const Candidate& candidate : candidates) EXPECT_LE(candidate.active, 1250 * candidate.weight + 1);
}

TEST(OwnerOfKey, ParallelRequestsOfOneClientStayTogether) {
  auto candidates = with_weights({1, 1, 1});
  const std::size_t owner = owner_of_key(candidates, 5);
  for (std::uint32_t i = 0; i < hardly_active; ++i) {
    ASSERT_EQ(owner_of_key(candidates, 5), owner);
    candidates[owner].active += 1;
  }
  EXPECT_NE(owner_of_key(candidates, 5), owner);
}

}  // namespace
}  // namespace ebb::gate
