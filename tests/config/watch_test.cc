// With the real inotify. The waits end with the event; their bound is only there to fail instead of hanging.
#include "config/watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <semaphore>

#include "tests/config/temporary_folder.h"

namespace ebb::config {
namespace {

namespace fs = std::filesystem;

class WatchFiles : public testing::Test {
 protected:
  void start(std::vector<std::string> files) {
    auto watch = Watch::start(std::move(files), [this] { changes_.release(); });
    ASSERT_TRUE(watch) << watch.error().where;
    watch_ = std::move(*watch);
  }
  bool noticed() { return changes_.try_acquire_for(std::chrono::seconds{20}); }

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

TEST_F(WatchFiles, StopsAtOnceWhenNothingEverHappened) {
  start({folder_ / "none.yaml"});
  watch_ = nullptr;
}

}  // namespace
}  // namespace ebb::config
