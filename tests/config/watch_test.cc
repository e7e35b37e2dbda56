// With the real inotify. The waits end with the event; their bound is only there to fail instead of hanging.
#include "config/watch.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <latch>
#include <semaphore>

#include "tests/config/temporary_folder.h"

namespace ebb::config {
namespace {

namespace fs = std::filesystem;

class WatchFiles : public testing::Test {
 protected:
  void start(std::vector<std::string> files, WatchOptions options = {}) {
    auto watch = Watch::start(std::move(files), [this] { changes_.release(); }, std::move(options));
    ASSERT_TRUE(watch) << watch.error().where;
    watch_ = std::move(*watch);
  }
  bool noticed() { return changes_.try_acquire_for(std::chrono::seconds{20}); }
  // True once a watch of its own has told of a neighbour's change: ours has had the same event.
  void change_a_neighbour() {
    std::counting_semaphore<> others{0};
    const auto other = Watch::start({folder_ / "neighbour.yaml"}, [&] { others.release(); });
    ASSERT_TRUE(other);
    for (const char* content : {"1", "22", "333"}) {
      write_file(folder_ / "neighbour.yaml", content);
      ASSERT_TRUE(others.try_acquire_for(std::chrono::seconds{20}));
    }
  }

  TemporaryFolder folder_;
  std::counting_semaphore<> changes_{0};
  std::unique_ptr<Watch> watch_;
};

TEST_F(WatchFiles, NoticesARewriteInPlace) {
  write_file(folder_ / "a.yaml", "1");
  start({folder_ / "a.yaml"});
  for (const char* content : {"2", "33", "4"}) {
    write_file(folder_ / "a.yaml", content);
    EXPECT_TRUE(noticed()) << content;
  }
}

TEST_F(WatchFiles, NoticesAFileThatIsRenamedOverIt) {
  write_file(folder_ / "a.yaml", "1");
  start({folder_ / "a.yaml"});
  for (const char* content : {"2", "3"}) {
    write_file(folder_ / "a.yaml.new", content);
    fs::rename(folder_ / "a.yaml.new", folder_ / "a.yaml");
    EXPECT_TRUE(noticed()) << content;
  }
}

TEST_F(WatchFiles, NoticesAFileThatIsRemovedAndWrittenAnew) {
  write_file(folder_ / "a.yaml", "1");
  start({folder_ / "a.yaml"});
  fs::remove(folder_ / "a.yaml");
  write_file(folder_ / "a.yaml", "2");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, NoticesASwapOfTheDataLinkAsInKubernetes) {
  for (const char* version : {"..v1", "..v2", "..v3"}) {
    fs::create_directory(folder_ / version);
    write_file(folder_ / (std::string(version) + "/a.yaml"), version);
  }
  fs::create_directory_symlink("..v1", folder_ / "..data");
  fs::create_symlink("..data/a.yaml", folder_ / "a.yaml");
  start({folder_ / "a.yaml"});
  for (const char* version : {"..v2", "..v3"}) {
    fs::create_directory_symlink(version, folder_ / "..data_tmp");
    fs::rename(folder_ / "..data_tmp", folder_ / "..data");
    EXPECT_TRUE(noticed()) << version;
  }
  write_file(folder_ / "..v3/a.yaml", "in place, behind two links");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, NoticesASwapOfALinkAboveTheFolder) {
  for (const char* version : {"v1", "v2"}) {
    fs::create_directories(folder_ / (std::string(version) + "/conf"));
    write_file(folder_ / (std::string(version) + "/conf/a.yaml"), version);
  }
  fs::create_directory_symlink(folder_ / "v1", folder_ / "current");
  start({folder_ / "current/conf/a.yaml"});
  fs::create_directory_symlink(folder_ / "v2", folder_ / "next");
  fs::rename(folder_ / "next", folder_ / "current");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, NoticesAFileWhoseFolderIsReplaced) {
  fs::create_directory(folder_ / "certs");
  write_file(folder_ / "certs/a.pem", "1");
  start({folder_ / "certs/a.pem"});
  fs::create_directory(folder_ / "certs.new");
  write_file(folder_ / "certs.new/a.pem", "2");
  fs::rename(folder_ / "certs", folder_ / "certs.old");
  fs::rename(folder_ / "certs.new", folder_ / "certs");
  ASSERT_TRUE(noticed());
  write_file(folder_ / "certs/a.pem", "3");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, NoticesAFileWhoseFolderComesLater) {
  start({folder_ / "later/certs/a.pem"});
  fs::create_directories(folder_ / "later/certs");
  write_file(folder_ / "later/certs/a.pem", "1");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, FollowsTheSetOfFiles) {
  write_file(folder_ / "a.yaml", "1");
  fs::create_directory(folder_ / "certs");
  write_file(folder_ / "certs/a.pem", "1");
  start({folder_ / "a.yaml"});
  watch_->set_files({folder_ / "a.yaml", folder_ / "certs/a.pem"});
  write_file(folder_ / "certs/a.pem", "2");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, AllowsAnotherSetOfFilesFromTheCallBack) {
  write_file(folder_ / "a.yaml", "1");
  std::latch ready{1};
  auto watch = Watch::start({folder_ / "a.yaml"}, [&] {
    ready.wait();
    watch_->set_files({folder_ / "a.yaml", folder_ / "b.pem"});
    changes_.release();
  });
  ASSERT_TRUE(watch);
  watch_ = std::move(*watch);
  ready.count_down();
  write_file(folder_ / "a.yaml", "2");
  ASSERT_TRUE(noticed());
  write_file(folder_ / "b.pem", "2");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, DoesNotCallBackForOtherFilesInTheFolder) {
  write_file(folder_ / "a.yaml", "1");
  start({folder_ / "a.yaml"});
  std::counting_semaphore<> others{0};
  const auto other = Watch::start({folder_ / "other.yaml"}, [&] { others.release(); });
  ASSERT_TRUE(other);
  for (const char* content : {"1", "2", "3"}) {
    write_file(folder_ / "other.yaml", content);
    ASSERT_TRUE(others.try_acquire_for(std::chrono::seconds{20}));
  }
  EXPECT_FALSE(changes_.try_acquire());
}

TEST_F(WatchFiles, DoesNotCallBackWhileAWriterHasTheFileOpen) {
  write_file(folder_ / "a.yaml", "1");
  start({folder_ / "a.yaml"});
  {
    std::ofstream writer(folder_ / "a.yaml", std::ios::trunc);
    for (const char* piece : {"2", "3", "4"}) {
      writer << piece << std::flush;
      change_a_neighbour();
      EXPECT_FALSE(changes_.try_acquire()) << piece;
    }
  }
  EXPECT_TRUE(noticed());
  change_a_neighbour();
  EXPECT_FALSE(changes_.try_acquire());
}

TEST_F(WatchFiles, LetsOtherFilesWaitForOneThatIsBeingWritten) {
  write_file(folder_ / "a.yaml", "1");
  write_file(folder_ / "a.pem", "1");
  start({folder_ / "a.yaml", folder_ / "a.pem"});
  {
    std::ofstream writer(folder_ / "a.pem", std::ios::trunc);
    writer << "half" << std::flush;
    write_file(folder_ / "a.yaml", "2");
    change_a_neighbour();
    EXPECT_FALSE(changes_.try_acquire());
  }
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, IsNotStoppedByAWriterThatChangesNothing) {
  write_file(folder_ / "a.yaml", "1");
  write_file(folder_ / "a.pem", "1");
  start({folder_ / "a.yaml", folder_ / "a.pem"});
  const std::ofstream writer(folder_ / "a.pem", std::ios::app);
  write_file(folder_ / "a.yaml", "2");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, TellsOfAFileThatStaysOpenAndTakesItWhenAsked) {
  write_file(folder_ / "a.yaml", "1");
  std::counting_semaphore<> reports{0};
  start({folder_ / "a.yaml"}, {.held =
                                   [&](const std::string& file, base::Duration) {
                                     if (file == folder_ / "a.yaml") reports.release();
                                   },
                               .report_after = std::chrono::milliseconds{1},
                               .report_every = std::chrono::milliseconds{1}});
  std::ofstream writer(folder_ / "a.yaml", std::ios::trunc);
  writer << "half" << std::flush;
  EXPECT_FALSE(watch_->current());
  ASSERT_TRUE(reports.try_acquire_for(std::chrono::seconds{20}));
  ASSERT_TRUE(reports.try_acquire_for(std::chrono::seconds{20}));
  EXPECT_FALSE(changes_.try_acquire());
  watch_->accept();
  EXPECT_TRUE(watch_->current());
  writer << "whole" << std::flush;
  writer.close();
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, TellsOfAFileThatStaysOpenThoughNothingElseHappens) {
  write_file(folder_ / "a.yaml", "1");
  std::counting_semaphore<> reports{0};
  start({folder_ / "a.yaml"}, {.held = [&](const std::string&, base::Duration) { reports.release(); },
                               .report_after = std::chrono::milliseconds{1}});
  std::ofstream writer(folder_ / "a.yaml", std::ios::in | std::ios::out);
  writer << "half of it" << std::flush;
  EXPECT_TRUE(reports.try_acquire_for(std::chrono::seconds{20}));
  EXPECT_FALSE(changes_.try_acquire());
  writer.close();
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, CountsAFileThatIsBeingWrittenAtTheStartAsChanged) {
  std::ofstream writer(folder_ / "a.yaml", std::ios::trunc);
  writer << "whole, but not closed" << std::flush;
  start({folder_ / "a.yaml"});
  EXPECT_FALSE(watch_->current());
  writer.close();
  EXPECT_TRUE(noticed());
}

// As for another's file without CAP_LEASE.
class WatchFilesWithoutLeases : public WatchFiles {
 protected:
  void start_blind(std::vector<std::string> files, base::Duration settling = std::chrono::hours{1}) {
    start(std::move(files), {.writers = [](const std::string&) { return Writers::unknown; }, .settling = settling});
  }
};

TEST_F(WatchFilesWithoutLeases, TakeAFileThatWasClosedRenamedOrLinked) {
  write_file(folder_ / "a.yaml", "1");
  start_blind({folder_ / "a.yaml"});
  write_file(folder_ / "a.yaml", "22");
  EXPECT_TRUE(noticed());
  write_file(folder_ / "a.yaml.new", "333");
  fs::rename(folder_ / "a.yaml.new", folder_ / "a.yaml");
  EXPECT_TRUE(noticed());
  fs::create_hard_link(folder_ / "a.yaml", folder_ / "b.yaml");
  change_a_neighbour();
  fs::remove(folder_ / "a.yaml");
  write_file(folder_ / "b.yaml", "4444");
  fs::create_hard_link(folder_ / "b.yaml", folder_ / "a.yaml");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFilesWithoutLeases, TakeASwapOfTheDataLink) {
  for (const char* version : {"..v1", "..v2"}) {
    fs::create_directory(folder_ / version);
    write_file(folder_ / (std::string(version) + "/a.yaml"), version);
  }
  fs::create_directory_symlink("..v1", folder_ / "..data");
  fs::create_symlink("..data/a.yaml", folder_ / "a.yaml");
  start_blind({folder_ / "a.yaml"});
  fs::create_directory_symlink("..v2", folder_ / "..data_tmp");
  fs::rename(folder_ / "..data_tmp", folder_ / "..data");
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFilesWithoutLeases, WaitForTheCloseWhenNeighboursChange) {
  write_file(folder_ / "a.yaml", "1");
  start_blind({folder_ / "a.yaml"});
  {
    std::ofstream writer(folder_ / "a.yaml", std::ios::trunc);
    writer << "half" << std::flush;
    change_a_neighbour();
    EXPECT_FALSE(changes_.try_acquire());
  }
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFilesWithoutLeases, TakeAFileThatHasSettled) {
  write_file(folder_ / "a.yaml", "1");
  start_blind({folder_ / "a.yaml"}, std::chrono::milliseconds{1});
  std::ofstream writer(folder_ / "a.yaml", std::ios::trunc);
  writer << "whole" << std::flush;
  change_a_neighbour();
  EXPECT_TRUE(noticed());
}

TEST_F(WatchFiles, NoticesTheWaysInWhichPeopleWriteFiles) {
  write_file(folder_ / "a.yaml", "1");
  write_file(folder_ / "b.yaml", "another");
  start({folder_ / "a.yaml"});
  const std::string in = "cd " + folder_.path().string() + " && ";
  for (const char* way : {"cp b.yaml a.yaml", "sed -i s/other/nother/ a.yaml", "echo more >> a.yaml", "touch a.yaml",
                          "rm a.yaml; cp b.yaml a.yaml", "mv b.yaml a.yaml", "dd if=/dev/zero of=a.yaml bs=1 count=9",
                          "truncate -s 3 a.yaml"}) {
    ASSERT_EQ(std::system((in + way + " 2>/dev/null").c_str()), 0) << way;
    EXPECT_TRUE(noticed()) << way;
    change_a_neighbour();  // what still comes of that way has come
    while (changes_.try_acquire()) {
    }
  }
}

TEST_F(WatchFiles, StopsAtOnceWhenNothingEverHappened) {
  start({folder_ / "none.yaml"});
  watch_ = nullptr;
}

}  // namespace
}  // namespace ebb::config
