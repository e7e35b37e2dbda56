#include "wire/h2_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace ebb::wire {
namespace {

TEST(FreePieces, GivesWhatWasGivenBack) {
  FreePieces pieces;
  for (std::size_t bytes : {24u, 40u, 104u, 1000u}) {
    void* piece = pieces.take(bytes);
    std::memset(piece, 1, bytes);
    pieces.give_back(piece);
    EXPECT_GT(pieces.kept_bytes(), 0u);
    EXPECT_EQ(pieces.take(bytes), piece);
    EXPECT_EQ(pieces.kept_bytes(), 0u);
    std::memset(piece, 2, bytes);
    std::free(piece);  // they come from malloc()
  }
}

TEST(FreePieces, NeverGivesAPieceThatIsTooSmall) {
  FreePieces pieces;
  for (std::size_t given = 1; given <= FreePieces::piece_bytes_max + 64; ++given) {
    for (const std::size_t asked : {given, given + 1, given + 15, given + 16}) {
      pieces.give_back(pieces.take(given));
      void* piece = pieces.take(asked);
      std::memset(piece, 3, asked);  // the sanitizer watches
      pieces.give_back(piece);
    }
  }
}

TEST(FreePieces, KeepsNeitherLargePiecesNorMoreThanItMay) {
  FreePieces pieces;
  pieces.give_back(nullptr);
  pieces.give_back(pieces.take(FreePieces::piece_bytes_max + 64));
  EXPECT_EQ(pieces.kept_bytes(), 0u);
  std::vector<void*> taken;
  for (std::size_t sum = 0; sum < 2 * FreePieces::kept_bytes_max; sum += 500) taken.push_back(pieces.take(500));
  for (void* piece : taken) pieces.give_back(piece);
  EXPECT_LE(pieces.kept_bytes(), FreePieces::kept_bytes_max);
  EXPECT_GT(pieces.kept_bytes(), FreePieces::kept_bytes_max - 1000);
}

}  // namespace
}  // namespace ebb::wire
