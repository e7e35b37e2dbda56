#include "app/pem_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/temporary_folder.h"

namespace ebb::app {
namespace {

using config::TemporaryFolder;
using config::write_file;

TEST(PemFiles, AreReadAsTheyAre) {
  const TemporaryFolder folder;
  write_file(folder / "a.pem", "certificate");
  PemFiles files("listener \"secure\"");
  EXPECT_EQ(files.read(folder / "a.pem", "certificate"), "certificate");
  EXPECT_EQ(files.read("", "key"), "");
  EXPECT_TRUE(files.problems().empty());
}

TEST(PemFiles, EachThatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  PemFiles files("listener \"secure\"");
  files.read(folder / "a.key", "key");
  files.read(folder.path().string(), "key");
  ASSERT_EQ(files.problems().size(), 2u);
  EXPECT_EQ(files.problems()[0].text(),
            (folder / "a.key") +
                ": the key of listener \"secure\" cannot be read: No such file or directory; "
                "put the file there and let this process read it, or correct the path");
  EXPECT_THAT(files.problems()[1].text(), testing::HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace ebb::app
