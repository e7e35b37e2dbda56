#include "gate/shared_limit.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ebb::gate {
namespace {

TEST(SharedLimit, HasSoManyPlaces) {
  SharedLimit limit(2);
  EXPECT_TRUE(limit.take());
  EXPECT_FALSE(limit.full_for(0));
  EXPECT_TRUE(limit.take());
  EXPECT_FALSE(limit.take());
  EXPECT_TRUE(limit.full_for(0));
  limit.set_most(3);
  EXPECT_TRUE(limit.take());
  limit.set_most(1);
  EXPECT_FALSE(limit.take()) << "what is there stays, nothing comes";
}

TEST(SharedLimit, TellsWhoHasFoundItFullSince) {
  SharedLimit limit(1);
  ASSERT_TRUE(limit.take());
  EXPECT_TRUE(limit.full_for(0));
  EXPECT_TRUE(limit.full_for(3));
  EXPECT_EQ(limit.give_back(1), SharedLimit::mark(0) | SharedLimit::mark(3));
  ASSERT_TRUE(limit.take());
  EXPECT_EQ(limit.give_back(1), 0u) << "each mark is told once";
}

TEST(SharedLimit, CountsWorkFromBeforeIt) {
  SharedLimit limit(2);
  limit.take_anyway(5);
  EXPECT_TRUE(limit.full_for(1));
  limit.give_back(4);
  EXPECT_TRUE(limit.take());
  EXPECT_FALSE(limit.take());
}

// Workers that wait sleep until they are woken: if a mark were lost, this would not end.
TEST(SharedLimit, LosesNobodyWhoWaits) {
  constexpr std::size_t workers = 4;
  constexpr int turns = 20'000;
  SharedLimit limit(1);
  std::atomic<std::uint64_t> woken[workers] = {};
  std::atomic<int> inside = 0;
  const auto work = [&](std::size_t self) {
    for (int turn = 0; turn < turns; ++turn) {
      while (limit.full_for(self) || !limit.take()) {
        if (!limit.full_for(self)) continue;
        woken[self].wait(0);
        woken[self].store(0);
      }
      EXPECT_EQ(++inside, 1);
      --inside;
      const std::uint64_t waiting = limit.give_back(1);
      for (std::size_t other = 0; other < workers; ++other) {
        if ((waiting & SharedLimit::mark(other)) == 0) continue;
        woken[other].store(1);
        woken[other].notify_one();
      }
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) threads.emplace_back(work, i);
}

}  // namespace
}  // namespace ebb::gate
