// The access log with its real thread, on files and pipes. Nothing here waits for a time: a destroyed log has written
// all it will write, and a pipe is read until the expected line comes. A log that never does it fails its test.
#include "observe/access_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <thread>

#include "observe/byte_ring.h"

namespace ebb::observe {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

// Waits for what the log's own thread does.
bool comes_true(const std::function<bool()>& condition) {
  const auto given_up = std::chrono::steady_clock::now() + std::chrono::minutes{3};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > given_up) return false;
    std::this_thread::yield();
  }
  return true;
}

class AccessLogFile : public testing::Test {
 protected:
  AccessLogFile() {
    std::string pattern = testing::TempDir() + "access-log-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/access.log";
  }
  ~AccessLogFile() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<AccessLog> open(std::size_t rings, LogFormat format = LogFormat::json) {
    std::string error;
    auto log = AccessLog::open(path_, rings, error, format);
    EXPECT_NE(log, nullptr) << error;
    return log;
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
  std::string path_;
};

TEST_F(AccessLogFile, WritesWhatWasPushedBeforeItEnds) {
  auto log = open(2);
  EXPECT_TRUE(log->ring(0).push("one\n"));
  EXPECT_TRUE(log->ring(1).push("two\n"));
  log.reset();
  EXPECT_THAT(content(path_), testing::AnyOf("one\ntwo\n", "two\none\n"));
}

TEST_F(AccessLogFile, AppendsToWhatIsThere) {
  std::ofstream(path_) << "old\n";
  open(1)->ring(0).push("new\n");
  EXPECT_EQ(content(path_), "old\nnew\n");
}

TEST_F(AccessLogFile, SaysWhyItCannotOpen) {
  std::string error;
  EXPECT_EQ(AccessLog::open(folder_ + "/no/such/folder", 1, error), nullptr);
  EXPECT_THAT(error, HasSubstr("/no/such/folder: No such file or directory"));
}

// Each line is whole, and lines of one worker stay in order, whatever the rings' wrap-arounds.
TEST_F(AccessLogFile, KeepsLinesWholeAndInOrderUnderLoad) {
  constexpr int lines_each = 20000;
  auto log = open(2);
  const auto work = [&log](std::size_t worker) {
    std::string line;
    for (int number = 0; number < lines_each; ++number) {
      line = std::to_string(worker) + " " + std::to_string(number) + std::string(number % 150, '.') + "\n";
      if (!comes_true([&] { return log->ring(worker).push(line); })) return;  // then lines are missing below
    }
  };
  std::thread first(work, 0), second(work, 1);
  first.join();
  second.join();
  log.reset();

  std::ifstream file(path_);
  int next[2] = {};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("{")) continue;  // tells of a full ring; the line itself was tried again
    const std::size_t worker = line[0] == '0' ? 0 : 1;
    const std::string number = std::to_string(next[worker]);
    ASSERT_EQ(line, std::to_string(worker) + " " + number + std::string(next[worker] % 150, '.'));
    next[worker] += 1;
  }
  EXPECT_EQ(next[0], lines_each);
  EXPECT_EQ(next[1], lines_each);
}

TEST_F(AccessLogFile, ReopensAfterRotation) {
  auto log = open(1);
  log->ring(0).push("before\n");
  ASSERT_TRUE(comes_true([&] { return !content(path_).empty(); }));
  std::filesystem::rename(path_, path_ + ".1");
  log->reopen();
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(path_); }));
  log->ring(0).push("after\n");
  log.reset();
  EXPECT_EQ(content(path_ + ".1"), "before\n");
  EXPECT_EQ(content(path_), "after\n");
}

TEST_F(AccessLogFile, KeepsTheOldFileWhenTheNewOneCannotBeOpened) {
  auto log = open(1);
  const std::string moved = folder_ + "/moved.log";
  std::filesystem::rename(path_, moved);
  std::filesystem::create_directory(path_);
  log->reopen();
  ASSERT_TRUE(comes_true([&] { return log->losses().failed_writes > 0; }));
  log->ring(0).push("still here\n");
  log.reset();
  EXPECT_EQ(content(moved), "still here\n");
}

TEST_F(AccessLogFile, CountsLinesThatAFullDiskLoses) {
  path_ = "/dev/full";
  auto log = open(1);
  log->ring(0).push("one\ntwo\n");
  ASSERT_TRUE(comes_true([&] { return log->losses().failed_writes > 0; }));
  EXPECT_EQ(log->losses().lines_lost, 2u);
  EXPECT_EQ(log->losses().lines_dropped, 0u);
}

// A pipe whose other end the test holds.
class AccessLogPipe : public AccessLogFile {
 protected:
  AccessLogPipe() {
    EXPECT_EQ(mkfifo(path_.c_str(), 0600), 0);
    reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK);
  }
  ~AccessLogPipe() override { close_reader(); }
  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }
  // Pushes until the stalled pipe and the ring are both full; returns how many were taken.
  static std::size_t fill(AccessLog& log) {
    const std::string line = std::string(1023, 'x') + "\n";
    std::size_t taken = 0;
    for (int refusals = 0; refusals < 3;) {
      if (log.ring(0).push(line)) {
        taken += 1;
      } else {
        refusals += 1;
      }
    }
    return taken;
  }

  int reader_ = -1;
};

TEST_F(AccessLogPipe, SurvivesAReaderThatLeft) {
  auto log = open(1);
  close_reader();
  log->ring(0).push("lost\n");  // SIGPIPE here would end the test program
  ASSERT_TRUE(comes_true([&] { return log->losses().failed_writes > 0; }));
  EXPECT_EQ(log->losses().lines_lost, 1u);
}

// How many dropped lines the log has told of; `notices` counts the lines that say so.
std::uint64_t drops_told(const std::string& text, LogFormat format, std::size_t& notices) {
  const std::string mark =
      format == LogFormat::json ? R"("event":"lines_dropped","worker":0,"count":)" : " lines dropped by worker 0: ";
  std::uint64_t told = 0;
  notices = 0;
  for (std::size_t at = 0; (at = text.find(mark, at)) != std::string::npos; at += mark.size()) {
    told += std::strtoull(text.c_str() + at + mark.size(), nullptr, 10);
    notices += 1;
  }
  return told;
}

TEST_F(AccessLogPipe, DropsAndTellsWhenTheReaderStalls) {
  for (const LogFormat format : {LogFormat::json, LogFormat::common}) {
    auto log = open(1, format);
    const std::size_t taken = fill(*log);
    EXPECT_GE(taken, 1024u);
    EXPECT_EQ(log->losses().lines_dropped, 3u);
    std::string text;
    std::size_t notices = 0;
    std::size_t lines = 0;
    EXPECT_TRUE(comes_true([&] {
      char buffer[65536];
      const ssize_t got = ::read(reader_, buffer, sizeof buffer);
      if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
      lines = static_cast<std::size_t>(std::ranges::count(text, '\n'));
      return drops_told(text, format, notices) >= 3 && lines >= taken + notices;
    }));
    EXPECT_EQ(lines, taken + notices);
    EXPECT_EQ(drops_told(text, format, notices), 3u);
  }
}

TEST_F(AccessLogPipe, AStalledReaderCannotKeepItFromEnding) {
  auto log = open(1);
  fill(*log);
  log.reset();  // gives up after a second
}

TEST_F(AccessLogPipe, LosesWhatIsLeftAtTheEndInOneTimeForAllRings) {
  auto log = open(64);
  fill(*log);
  for (std::size_t ring = 1; ring < 64; ++ring) log->ring(ring).push("line\n");
  const auto started = std::chrono::steady_clock::now();
  log.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds{30}) << "a second once, not for each ring";
}

TEST_F(AccessLogPipe, AStalledReaderCannotKeepTheNextFileFromBeingOpened) {
  auto log = open(1);
  fill(*log);
  std::filesystem::rename(path_, path_ + ".1");
  log->reopen();
  ASSERT_TRUE(comes_true([&] { return std::filesystem::exists(path_); }));
  log->ring(0).push("after\n");
  log.reset();
  EXPECT_THAT(content(path_), EndsWith("after\n"));
}

TEST_F(AccessLogPipe, LinesWaitForTheFirstReader) {
  close_reader();
  auto log = open(1);
  log->ring(0).push("early\n");
  reader_ = ::open(path_.c_str(), O_RDONLY);  // returns when the log has opened it too
  char buffer[16];
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(::read(reader_, buffer, sizeof buffer))), "early\n");
  EXPECT_EQ(log->losses().lines_lost, 0u);
}

TEST_F(AccessLogPipe, EndsWithoutAReaderAndCountsWhatIsLost) {
  close_reader();
  auto log = open(1);
  log->ring(0).push("lost\n");
  fill(*log);
  EXPECT_EQ(log->losses().lines_dropped, 3u);
  log.reset();
}

TEST_F(AccessLogPipe, ReopensWithoutAReaderAndUsesTheOneThatComes) {
  auto log = open(1);
  close_reader();
  log->reopen();
  ASSERT_TRUE(comes_true([&] { return log->losses().failed_writes > 0; }));
  reader_ = ::open(path_.c_str(), O_RDONLY);
  log->ring(0).push("again\n");
  char buffer[16];
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(::read(reader_, buffer, sizeof buffer))), "again\n");
}

TEST_F(AccessLogFile, ReopensWhenItsFolderIsBack) {
  const std::string base = folder_ + "/logs";
  std::filesystem::create_directory(base);
  path_ = base + "/access.log";
  auto log = open(1);
  std::filesystem::remove_all(base);
  log->reopen();
  ASSERT_TRUE(comes_true([&] { return log->losses().failed_writes > 0; }));
  log->ring(0).push("lost with the old file\n");
  std::filesystem::create_directory(base);
  ASSERT_TRUE(comes_true([&] {
    log->ring(0).push("line\n");
    return std::filesystem::exists(path_);
  }));
  log->ring(0).push("last\n");
  log.reset();
  EXPECT_THAT(content(path_), EndsWith("last\n"));
}

TEST(ByteRing, RefusesWhatDoesNotFitAndTakesItWhenThereIsRoom) {
  ByteRing ring(16);
  EXPECT_TRUE(ring.push("0123456789"));
  EXPECT_FALSE(ring.push("abcdefg"));
  EXPECT_EQ(ring.dropped(), 1u);
  EXPECT_EQ(ring.readable(), "0123456789");
  ring.release(10);
  EXPECT_TRUE(ring.push("abcdefg"));  // wraps around
  EXPECT_EQ(ring.readable(), "abcdef");
  ring.release(6);
  EXPECT_EQ(ring.readable(), "g");
  ring.release(1);
  EXPECT_TRUE(ring.empty());
}

TEST(ByteRing, CanBeFilledToTheLastByte) {
  ByteRing ring(16);
  EXPECT_TRUE(ring.push("0123456789abcdef"));
  EXPECT_FALSE(ring.push("x"));
  EXPECT_EQ(ring.readable().size(), 16u);
}

}  // namespace
}  // namespace ebb::observe
