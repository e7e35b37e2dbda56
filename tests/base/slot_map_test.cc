#include "base/slot_map.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "base/rng.h"

namespace ebb::base {
namespace {

struct Guest {
  explicit Guest(int number_of_guest, std::function<void()> last_words = {})
      : number(number_of_guest), at_end(std::move(last_words)) {
    alive += 1;
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;
  ~Guest() {
    alive -= 1;
    if (at_end) at_end();
  }
  int number;
  std::function<void()> at_end;
  static inline int alive = 0;
};

class SlotMapTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(Guest::alive, 0); }
};

TEST_F(SlotMapTest, FindsWhatItOwns) {
  SlotMap<Guest> map;
  const Handle handle = map.emplace(7);
  ASSERT_NE(map.find(handle), nullptr);
  EXPECT_EQ(map.find(handle)->number, 7);
  EXPECT_EQ(map.size(), 1u);
}

TEST_F(SlotMapTest, FindsNothingByTheEmptyHandle) {
  SlotMap<Guest> map;
  EXPECT_EQ(map.find({}), nullptr);
  map.emplace(1);
  EXPECT_EQ(map.find({}), nullptr);
  EXPECT_FALSE(map.erase({}));
}

TEST_F(SlotMapTest, FindsNothingByAStaleHandleWhenTheSlotIsUsedAgain) {
  SlotMap<Guest> map;
  const Handle first = map.emplace(1);
  EXPECT_TRUE(map.erase(first));
  const Handle second = map.emplace(2);
  EXPECT_EQ(first.slot, second.slot);
  EXPECT_EQ(map.find(first), nullptr);
  EXPECT_FALSE(map.erase(first));
  EXPECT_EQ(map.find(second)->number, 2);
}

TEST_F(SlotMapTest, FindsNothingByAForgedHandleToAFreeSlot) {
  SlotMap<Guest> map;
  const Handle handle = map.emplace(1);
  map.erase(handle);
  EXPECT_EQ(map.find({handle.slot, handle.generation + 1}), nullptr);
  EXPECT_EQ(map.find({1'000'000, 1}), nullptr);
}

TEST_F(SlotMapTest, DoesNotMoveObjectsWhenItGrows) {
  SlotMap<Guest> map;
  const Handle first = map.emplace(0);
  const Guest* place = map.find(first);
  for (int i = 1; i < 1000; ++i) map.emplace(i);
  EXPECT_EQ(map.find(first), place);
}

TEST_F(SlotMapTest, LetsTheWalkEraseTheObjectItVisits) {
  SlotMap<Guest> map;
  for (int i = 0; i < 500; ++i) map.emplace(i);
  map.for_each([&](Handle handle, Guest& guest) {
    if (guest.number % 3 == 0) map.erase(handle);
  });
  EXPECT_EQ(map.size(), 333u);
  map.for_each([](Handle, Guest& guest) { EXPECT_NE(guest.number % 3, 0); });
}

TEST_F(SlotMapTest, DoesNotFindAnObjectThatIsBeingDestroyed) {
  SlotMap<Guest> map;
  Handle self;
  bool seen = true;
  self = map.emplace(1, [&] { seen = map.find(self) != nullptr || map.erase(self); });
  EXPECT_TRUE(map.erase(self));
  EXPECT_FALSE(seen);
}

TEST_F(SlotMapTest, LetsADestructorPutAnotherObjectIn) {
  SlotMap<Guest> map;
  Handle child;
  const Handle parent = map.emplace(1, [&] { child = map.emplace(2); });
  EXPECT_TRUE(map.erase(parent));
  ASSERT_NE(map.find(child), nullptr);
  EXPECT_EQ(map.find(child)->number, 2);
  EXPECT_NE(map.emplace(3), child);
}

TEST_F(SlotMapTest, IsWalkedThroughInSteps) {
  SlotMap<Guest> map;
  std::vector<Handle> handles;
  for (int i = 0; i < 300; ++i) handles.push_back(map.emplace(i));
  for (int i = 0; i < 300; i += 3) map.erase(handles[static_cast<std::size_t>(i)]);
  for (const std::uint32_t step : {1u, 7u, 128u, 1000u}) {
    std::vector<Handle> met;
    std::uint32_t from = 0;
    do {
      from = map.for_some(from, step, [&met](Handle handle, Guest&) { met.push_back(handle); });
    } while (from != 0);
    EXPECT_EQ(met.size(), 200u);
    for (const Handle handle : met) EXPECT_NE(map.find(handle), nullptr);
  }
}

TEST_F(SlotMapTest, HasNothingToWalkThroughWhenItIsEmpty) {
  SlotMap<Guest> map;
  EXPECT_EQ(map.for_some(0, 10, [](Handle, Guest&) { FAIL(); }), 0u);
}

TEST_F(SlotMapTest, AgreesWithAMapOverRandomUse) {
  SlotMap<Guest> map;
  std::map<int, Handle> reference;
  std::vector<Handle> gone;
  Rng rng(1);
  for (int step = 0; step < 20'000; ++step) {
    if (reference.empty() || rng.chance(520)) {
      reference.emplace(step, map.emplace(step));
    } else {
      auto chosen = reference.lower_bound(static_cast<int>(rng.below(static_cast<std::uint64_t>(step))));
      if (chosen == reference.end()) chosen = reference.begin();
      ASSERT_TRUE(map.erase(chosen->second));
      gone.push_back(chosen->second);
      reference.erase(chosen);
    }
    ASSERT_EQ(map.size(), reference.size());
  }
  for (const auto& [number, handle] : reference) ASSERT_EQ(map.find(handle)->number, number);
  for (const Handle handle : gone) ASSERT_EQ(map.find(handle), nullptr);
}

}  // namespace
}  // namespace ebb::base
