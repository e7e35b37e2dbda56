#include "wire/h2_budget.h"

#include <gtest/gtest.h>

namespace ebb::wire {
namespace {

using namespace std::chrono_literals;

constexpr base::Instant start{1h};

TEST(H2Budget, ABucketGivesItsBurstAndThenItsRate) {
  TokenBucket bucket(10, 5);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bucket.take(start));
  EXPECT_FALSE(bucket.take(start));
  EXPECT_FALSE(bucket.take(start + 199ms));
  EXPECT_TRUE(bucket.take(start + 200ms));
  EXPECT_FALSE(bucket.take(start + 200ms));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(bucket.take(start + 1h));  // no more than the burst
  EXPECT_FALSE(bucket.take(start + 1h));
}

TEST(H2Budget, CreditIsSpentFirstAndDoesNotFade) {
  TokenBucket bucket(1, 1);
  bucket.credit(3);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(bucket.take(start + 1h));
  EXPECT_FALSE(bucket.take(start + 1h));
}

int frames_until_refused(H2Budget& budget, FrameHeader frame, base::Duration every) {
  base::Instant now = start;
  int count = 0;
  while (count < 5000 && budget.take(frame, now) == nullptr) {
    now += every;
    count += 1;
  }
  return count;
}

TEST(H2Budget, EveryKindOfFloodIsRefusedAndItsUsualRateIsNot) {
  struct Row {
    FrameType type;
    int burst;
    base::Duration patient;
  };
  const Row rows[] = {
      {FrameType::reset, 200, 20ms}, {FrameType::ping, 200, 100ms},         {FrameType::settings, 20, 1s},
      {FrameType::data, 100, 100ms}, {FrameType::window_update, 1000, 5ms}, {FrameType::priority, 200, 100ms},
      {FrameType{0x10}, 200, 100ms}, {FrameType::goaway, 200, 100ms},
  };
  for (const Row& row : rows) {
    H2Budget hasty(16384);
    EXPECT_EQ(frames_until_refused(hasty, {.type = row.type}, 0ns), row.burst);
    H2Budget patient(16384);
    EXPECT_EQ(frames_until_refused(patient, {.type = row.type}, row.patient), 5000);
  }
}

TEST(H2Budget, DataThatWeSendEarnsWindowUpdatesAndPings) {
  H2Budget budget(16384);
  for (int i = 0; i < 1000; ++i) budget.data_sent();
  EXPECT_EQ(frames_until_refused(budget, {.type = FrameType::window_update}, 0ns), 5000);
  EXPECT_EQ(frames_until_refused(budget, {.type = FrameType::ping}, 0ns), 1200);
}

TEST(H2Budget, DataWithContentOrAnEndIsFree) {
  H2Budget budget(16384);
  EXPECT_EQ(frames_until_refused(budget, {.length = 1, .type = FrameType::data}, 0ns), 5000);
  EXPECT_EQ(frames_until_refused(budget, {.type = FrameType::data, .flags = 1}, 0ns), 5000);
}

TEST(H2Budget, ABlockIsBoundedInFramesAndBytes) {
  H2Budget budget(1000);
  for (int block = 0; block < 100; ++block) {
    EXPECT_EQ(budget.take({.length = 400, .type = FrameType::headers}, start), nullptr);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(budget.take({.length = 450, .type = FrameType::continuation}, start), nullptr);
    }
  }
  EXPECT_NE(budget.take({.type = FrameType::continuation}, start), nullptr);
  EXPECT_NE(budget.take({.length = 4001, .type = FrameType::headers}, start), nullptr);
}

TEST(H2Budget, FaultsAndResetsShareABudget) {
  H2Budget budget(16384);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(budget.take_fault(start), nullptr);
  EXPECT_NE(budget.take({.type = FrameType::reset}, start), nullptr);
  EXPECT_NE(budget.take_fault(start), nullptr);
}

TEST(H2FrameScan, FindsTheHeadersHoweverTheBytesAreCut) {
  std::string bytes = "preface";
  for (int i = 0; i < 3; ++i) {
    bytes += std::string({'\0', '\0', static_cast<char>(i * 5), static_cast<char>(i), '\1', '\0', '\0', '\0', '\0'});
    bytes += std::string(i * 5, 'x');
  }
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameScan scan(7);
    std::vector<int> lengths;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      std::string_view rest = std::string_view(bytes).substr(at, piece);
      FrameHeader header;
      while (!rest.empty()) {
        if (!scan.next(rest, header)) continue;
        EXPECT_TRUE(header.ends_stream());
        EXPECT_EQ(static_cast<std::size_t>(header.type), lengths.size());
        lengths.push_back(static_cast<int>(header.length));
      }
    }
    EXPECT_EQ(lengths, (std::vector<int>{0, 5, 10})) << piece;
  }
}

TEST(H2FrameScan, ReadsWhatAPriorityDependsOn) {
  const auto priority = [](char stream, char dependency) {
    return std::string{'\0', '\0', '\5', '\2', '\0', '\0', '\0', '\0', stream, '\x80', '\0', '\0', dependency, 'w'};
  };
  const std::string bytes = priority(1, 3) + priority(3, 3) + priority(0, 3) + priority(5, 0);
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameScan scan(0);
    std::vector<bool> broken;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      std::string_view rest = std::string_view(bytes).substr(at, piece);
      FrameHeader header;
      while (!rest.empty()) {
        if (scan.next(rest, header)) broken.push_back(header.is_broken_priority());
      }
    }
    EXPECT_EQ(broken, (std::vector<bool>{false, true, true, false})) << piece;
  }
  EXPECT_TRUE((FrameHeader{.length = 4, .type = FrameType::priority, .stream = 1}).is_broken_priority());
}

}  // namespace
}  // namespace ebb::wire
