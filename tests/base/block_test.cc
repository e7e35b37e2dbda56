#include "base/block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"

namespace ebb::base {
namespace {

constexpr std::uint32_t small = BlockPool::small_size;
constexpr std::uint32_t large = BlockPool::large_size;

std::string text_of(const Chain& chain) {
  std::string text;
  for (std::uint32_t i = 0; i < chain.slices(); ++i) text += chain[i].view();
  EXPECT_EQ(text.size(), chain.bytes());
  return text;
}

Chain chain_of(BlockPool& pool, const std::vector<std::string>& pieces) {
  Chain chain;
  for (const std::string& piece : pieces) chain.push(pool.copy(piece));
  return chain;
}

TEST(BlockPool, GivesBlocksOfTheFittingSize) {
  BlockPool pool;
  EXPECT_EQ(pool.take(1).room(), small);
  EXPECT_EQ(pool.take(small).room(), small);
  EXPECT_EQ(pool.take(small + 1).room(), large);
  EXPECT_EQ(pool.take(large + 1).room(), large + 1);
}

TEST(BlockPool, FitsAFullTlsRecordIntoALargeBlock) { EXPECT_GE(large, 16'384u + 256u + 5u); }

TEST(BlockPool, CountsWhatIsInUseAndWhatItKeeps) {
  BlockPool pool;
  {
    const Slice one = pool.take(1);
    const Slice two = pool.take(large);
    EXPECT_EQ(pool.bytes_in_use(), small + large);
  }
  EXPECT_EQ(pool.bytes_in_use(), 0u);
  EXPECT_EQ(pool.bytes_kept(), small + large);
  const Slice again = pool.take(large);
  EXPECT_EQ(pool.bytes_kept(), small);
}

TEST(BlockPool, KeepsNoMoreThanItMay) {
  BlockPool pool(1 << 20, 2 * large);
  {
    std::vector<Slice> slices;
    for (int i = 0; i < 5; ++i) slices.push_back(pool.take(large));
  }
  EXPECT_EQ(pool.bytes_kept(), 2 * large);
}

TEST(BlockPool, ReturnsOversizedBlocksToTheHeap) {
  BlockPool pool;
  pool.take(10 * large);
  EXPECT_EQ(pool.bytes_in_use(), 0u);
  EXPECT_EQ(pool.bytes_kept(), 0u);
}

TEST(BlockPool, RefusesReceiveBlocksBeyondItsBudget) {
  BlockPool pool(2 * large);
  std::vector<Slice> slices;
  for (int i = 0; i < 3; ++i) slices.push_back(pool.take(large));
  EXPECT_TRUE(pool.over_budget());
  EXPECT_EQ(pool.try_take_large(), nullptr);
  slices.pop_back();
  Block* block = pool.try_take_large();
  ASSERT_NE(block, nullptr);
  pool.give_back(block);
}

TEST(BlockPool, CopiesNothingFromNowhere) {
  BlockPool pool;
  EXPECT_TRUE(pool.copy({}).empty());
}

TEST(Slice, CountsItsHolders) {
  BlockPool pool;
  Slice first = pool.copy("shared bytes");
  EXPECT_FALSE(first.block()->shared());
  {
    const Slice second = first.part(7, 5);
    EXPECT_TRUE(first.block()->shared());
    EXPECT_EQ(second.view(), "bytes");
    first = Slice();
    EXPECT_GT(pool.bytes_in_use(), 0u);
    EXPECT_EQ(second.view(), "bytes");
  }
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(Slice, SurvivesAssignmentToItself) {
  BlockPool pool;
  Slice slice = pool.copy("still here");
  const Slice& same = slice;
  slice = same;
  EXPECT_EQ(slice.view(), "still here");
  EXPECT_FALSE(slice.block()->shared());
}

TEST(Slice, KnowsTheRoomBehindItself) {
  BlockPool pool;
  Slice slice = pool.copy("12345");
  slice.drop_front(2);
  EXPECT_EQ(slice.view(), "345");
  EXPECT_EQ(slice.room(), small - 5);
  slice.append("6");
  slice.extend(1);
  EXPECT_EQ(slice.size(), 5u);
  EXPECT_EQ(Slice().room(), 0u);
}

TEST(Chain, IsAQueueBeyondItsInlineSlices) {
  BlockPool pool;
  Chain chain = chain_of(pool, {"a", "b", "c", "d", "e", "f"});
  EXPECT_EQ(chain.slices(), 6u);
  EXPECT_EQ(text_of(chain), "abcdef");
  EXPECT_EQ(chain.pop_front().view(), "a");
  EXPECT_EQ(text_of(chain), "bcdef");
}

TEST(Chain, IgnoresEmptySlices) {
  BlockPool pool;
  Chain chain;
  chain.push(Slice());
  chain.push(pool.take(10));
  EXPECT_EQ(chain.slices(), 0u);
  EXPECT_TRUE(chain.empty());
}

TEST(Chain, JoinsCrumbsIntoOneBlock) {
  BlockPool pool;
  Chain chain;
  std::string sent;
  for (int i = 0; i < 5000; ++i) {
    const std::string crumb(1, static_cast<char>('a' + i % 26));
    Slice received = pool.take(large);  // as io_uring gives them: a large block for each
    received.append(crumb);
    chain.join(std::move(received));
    sent += crumb;
  }
  EXPECT_EQ(text_of(chain), sent);
  EXPECT_EQ(chain.slices(), 1u);
  EXPECT_EQ(pool.bytes_in_use(), large);
}

TEST(Chain, JoinsNothingBehindBytesThatOthersHold) {
  BlockPool pool;
  Chain chain;
  const Slice kept = pool.copy("kept");
  chain.push(kept);
  chain.join(pool.copy("more"));
  EXPECT_EQ(chain.slices(), 2u);
  EXPECT_EQ(text_of(chain), "keptmore");
  EXPECT_EQ(kept.view(), "kept");
}

TEST(Chain, JoinsCrumbsOfOneBlockThatIsStillBeingRead) {
  BlockPool pool;
  Chain chain;
  {
    Slice received = pool.take(large);  // as HTTP/2 gives them: frame by frame
    received.append(std::string(5000, 'x'));
    for (std::uint32_t i = 0; i < 5000; ++i) chain.join(received.part(i, 1));
  }
  EXPECT_EQ(text_of(chain), std::string(5000, 'x'));
  EXPECT_LE(chain.slices(), 4u);
  EXPECT_LT(chain.held(), 2 * large);
}

TEST(Chain, JoinsNothingOfNothing) {
  BlockPool pool;
  const Slice kept = pool.copy("kept");
  Chain chain;
  chain.push(kept);
  chain.join(Slice());
  EXPECT_EQ(text_of(chain), "kept");
}

TEST(BlockPool, ChargesMemoryThatIsNotItsOwn) {
  BlockPool pool(64 << 20);
  const std::size_t alone = pool.share();
  {
    Charge charge(pool);
    charge.set(16 << 20);
    charge.set(8 << 20);
    EXPECT_EQ(pool.bytes_in_use(), 8u << 20);
    EXPECT_EQ(pool.share(), alone - (1u << 20));
  }
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(Chain, JoinsAWholeChainAndLeavesFullBlocksWhereTheyAre) {
  BlockPool pool;
  Chain chain = chain_of(pool, {"first"});
  Chain more = chain_of(pool, {"second", std::string(BlockPool::body_size, 'x')});
  const char* const full = more[1].data();
  chain.join(std::move(more));
  EXPECT_TRUE(more.empty());
  ASSERT_EQ(chain.slices(), 2u);
  EXPECT_EQ(chain[0].view(), "firstsecond");
  EXPECT_EQ(chain[1].data(), full);
}

TEST(Chain, KnowsHowMuchMemoryItHolds) {
  BlockPool pool;
  Chain chain;
  EXPECT_EQ(chain.held(), 0u);
  const Slice block = pool.copy(std::string(10'000, 'x'));
  for (std::uint32_t i = 0; i < 2; ++i) chain.push(block.part(i * 2500, 2500));
  const std::size_t one = large + sizeof(Block);
  EXPECT_EQ(chain.held(), one);  // one block, however many slices of it
  for (std::uint32_t i = 2; i < 4; ++i) chain.push(block.part(i * 2500, 2500));
  EXPECT_EQ(chain.held(), one + 4 * sizeof(Slice));
  chain.push(pool.copy("y"));
  EXPECT_EQ(chain.held(), one + small + sizeof(Block) + 8 * sizeof(Slice));
  Chain front = chain.split_front(2500);
  EXPECT_EQ(front.held(), one);
  EXPECT_EQ(chain.held(), one + small + sizeof(Block) + 8 * sizeof(Slice));
  chain.drop_front(7500);
  EXPECT_EQ(chain.held(), small + sizeof(Block) + 8 * sizeof(Slice));
  chain.pop_front();
  EXPECT_EQ(chain.held(), 0u);
}

TEST(Chain, HoldsNoMoreThanItsSlicesSayHoweverItIsUsed) {
  BlockPool pool;
  Rng rng(7);
  Chain chain;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t size = 1 + static_cast<std::uint32_t>(rng.below(3 * small));
    switch (rng.below(5)) {
      case 0: chain.push(pool.copy(std::string(size, 'p'))); break;
      case 1: chain.join(pool.copy(std::string(size, 'j'))); break;
      case 2: chain.append(pool, std::string(size, 'a')); break;
      case 3: chain.drop_front(std::min<std::size_t>(size, chain.bytes())); break;
      default:
        if (!chain.empty()) chain.push(chain.pop_front());
    }
    std::size_t expected = 0;
    for (std::uint32_t at = 0; at < chain.slices(); ++at) {
      const bool counted = at > 0 && chain[at - 1].block() == chain[at].block();
      if (!counted) expected += chain[at].block()->capacity() + sizeof(Block);
    }
    ASSERT_EQ(chain.held(), expected + chain.array_bytes()) << i;
    ASSERT_GE(std::max<std::size_t>(chain.array_bytes() / sizeof(Slice), 2), chain.slices()) << i;
    if (chain.bytes() > (1u << 20)) chain.clear();
  }
}

TEST(BlockPool, LeavesAShareToEachHoweverManyHoldTheirs) {
  BlockPool pool(64 << 20);
  const std::size_t alone = pool.share();
  EXPECT_EQ(alone, (48u << 20) / 8);
  std::vector<Slice> held;
  for (int client = 0; client < 100; ++client) {
    const std::size_t share = pool.share();
    EXPECT_GT(share, 0u);
    std::size_t mine = 0;
    while (mine + large < share) {
      held.push_back(pool.take(large));
      mine += large;
    }
  }
  EXPECT_FALSE(pool.crowded());
  while (!pool.crowded()) held.push_back(pool.take(large));
  EXPECT_EQ(pool.share(), 0u);
  EXPECT_FALSE(pool.over_budget());
}

TEST(Chain, AppendsBehindTheLastSliceWhereItFits) {
  BlockPool pool;
  Chain chain;
  for (int i = 0; i < 100; ++i) chain.append(pool, "0123456789");
  EXPECT_EQ(chain.slices(), 1u);
  EXPECT_EQ(chain.bytes(), 1000u);
}

TEST(Chain, DoesNotWriteBehindASliceThatOthersHold) {
  BlockPool pool;
  Slice held = pool.copy("head");
  Chain chain;
  chain.push(held);
  chain.append(pool, "tail");
  EXPECT_EQ(chain.slices(), 2u);
  held.append("mine");
  EXPECT_EQ(text_of(chain), "headtail");
}

TEST(Chain, StartsAnotherBlockWhenTheLastIsFull) {
  BlockPool pool;
  Chain chain;
  chain.append(pool, std::string(small - 3, 'x'));
  chain.append(pool, "1234");
  EXPECT_EQ(chain.slices(), 2u);
  EXPECT_TRUE(text_of(chain).ends_with("x1234"));
}

TEST(Chain, DropsWithinAndAcrossSlices) {
  BlockPool pool;
  Chain chain = chain_of(pool, {"abc", "def", "ghi"});
  chain.drop_front(0);
  chain.drop_front(2);
  EXPECT_EQ(text_of(chain), "cdefghi");
  chain.drop_front(4);
  EXPECT_EQ(text_of(chain), "ghi");
  chain.drop_front(3);
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(Chain, SplitsAnywhere) {
  for (std::size_t at = 0; at <= 9; ++at) {
    BlockPool pool;
    Chain chain = chain_of(pool, {"abc", "def", "ghi"});
    const Chain front = chain.split_front(at);
    EXPECT_EQ(text_of(front), std::string("abcdefghi").substr(0, at));
    EXPECT_EQ(text_of(chain), std::string("abcdefghi").substr(at));
  }
}

TEST(Chain, TakesAnotherChain) {
  BlockPool pool;
  Chain chain;
  chain.push(chain_of(pool, {"abc", "def", "ghi"}));
  Chain more = chain_of(pool, {"jkl", "mno"});
  chain.push(std::move(more));
  EXPECT_EQ(text_of(chain), "abcdefghijklmno");
  EXPECT_TRUE(more.empty());
  EXPECT_EQ(more.slices(), 0u);
}

TEST(Chain, MovesWithItsContent) {
  BlockPool pool;
  for (const std::vector<std::string>& pieces : {std::vector<std::string>{"a"}, {"a", "b", "c", "d"}}) {
    Chain from = chain_of(pool, pieces);
    const std::string text = text_of(from);
    Chain to = std::move(from);
    EXPECT_TRUE(from.empty());
    EXPECT_EQ(text_of(to), text);
    from = std::move(to);
    EXPECT_EQ(text_of(from), text);
  }
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(Chain, AgreesWithAStringOverRandomUse) {
  BlockPool pool;
  Rng rng(2);
  Chain chain;
  std::string reference;
  for (int step = 0; step < 20'000; ++step) {
    const std::string piece(rng.between(1, 400), static_cast<char>('a' + rng.below(26)));
    const std::size_t count = rng.below(reference.size() + 1);
    switch (rng.below(6)) {
      case 0:
        chain.push(pool.copy(piece));
        reference += piece;
        break;
      case 1:
      case 2:
        chain.append(pool, piece);
        reference += piece;
        break;
      case 3:
        chain.drop_front(count);
        reference.erase(0, count);
        break;
      case 4: {
        Chain front = chain.split_front(count);
        ASSERT_EQ(text_of(front), reference.substr(0, count));
        front.push(std::move(chain));
        chain = std::move(front);
        break;
      }
      case 5:
        if (chain.slices() > 0) reference.erase(0, chain.pop_front().size());
        break;
    }
    ASSERT_EQ(chain.bytes(), reference.size());
    if (step % 16 == 0) {
      ASSERT_EQ(text_of(chain), reference);
    }
  }
  chain.clear();
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

}  // namespace
}  // namespace ebb::base
