#include "reactor/receive_blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ebb::reactor {
namespace {

class ReceiveBlocksTest : public testing::Test {
 protected:
  // As if the kernel had written `bytes` bytes.
  std::vector<base::Slice> receive(std::size_t bytes, unsigned blocks = 1) {
    const auto parts = blocks_.prepare(blocks);
    std::vector<base::Slice> slices;
    std::size_t left = bytes;
    for (const iovec& part : parts) {
      const std::size_t count = std::min(left, part.iov_len);
      std::memset(part.iov_base, 'r', count);
      left -= count;
    }
    EXPECT_EQ(left, 0u);
    blocks_.hand_out(bytes, [&](base::Slice slice) { slices.push_back(std::move(slice)); });
    return slices;
  }

  base::BlockPool pool_;
  ReceiveBlocks blocks_{pool_};
};

TEST_F(ReceiveBlocksTest, SmallReceivesShareABlockWithoutTouchingEachOther) {
  const auto first = receive(100);
  const auto second = receive(200);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].block(), second[0].block());
  EXPECT_EQ(second[0].offset(), 100u);
}

TEST_F(ReceiveBlocksTest, TheBlockIsUsedFromItsStartOnceAllPartsAreReleased) {
  receive(100);
  const auto again = receive(100);
  EXPECT_EQ(again[0].offset(), 0u);
  EXPECT_EQ(pool_.bytes_in_use(), base::BlockPool::large_size);
}

TEST_F(ReceiveBlocksTest, AnAlmostFullBlockIsLeftToThoseWhoHoldIt) {
  const auto first = receive(base::BlockPool::large_size - 4000);
  const auto second = receive(100);
  EXPECT_NE(first[0].block(), second[0].block());
  EXPECT_EQ(second[0].offset(), 0u);
}

TEST_F(ReceiveBlocksTest, NobodyAppendsToASliceWhoseBlockIsStillReceivedInto) {
  base::Chain chain;
  for (auto& slice : receive(100)) chain.push(std::move(slice));
  chain.append(pool_, "own words");
  EXPECT_EQ(chain.slices(), 2u);
}

TEST_F(ReceiveBlocksTest, ABulkReceiveFillsSeveralBlocksInOrder) {
  const auto small = receive(100);  // held: the bulk receive must not begin behind it
  const std::size_t bytes = 3 * std::size_t{base::BlockPool::body_size} + 5;
  const auto slices = receive(bytes, 4);
  ASSERT_EQ(slices.size(), 4u);
  std::size_t total = 0;
  for (const auto& slice : slices) total += slice.size();
  EXPECT_EQ(total, bytes);
  EXPECT_EQ(slices[0].size(), base::BlockPool::body_size);
  EXPECT_EQ(slices[3].size(), 5u);
}

TEST_F(ReceiveBlocksTest, AnExhaustedBudgetGivesNothingToReceiveInto) {
  base::BlockPool poor(base::BlockPool::large_size);
  ReceiveBlocks blocks(poor);
  std::vector<base::Slice> hoard;
  while (base::Block* block = poor.try_take_large()) hoard.emplace_back(*block, 0, 0);
  EXPECT_TRUE(blocks.prepare(1).empty());
  hoard.clear();
  EXPECT_EQ(blocks.prepare(1).size(), 1u);
}

}  // namespace
}  // namespace ebb::reactor
