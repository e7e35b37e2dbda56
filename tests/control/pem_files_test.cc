#include "control/pem_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/temporary_folder.h"

namespace ebb::control {
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

// An empty revocation list or bundle must not mean "none was given".
TEST(PemFiles, AnEmptyFileIsRefusedAndNamed) {
  const TemporaryFolder folder;
  write_file(folder / "clients.crl", "");
  PemFiles files("listener \"secure\"");
  files.read(folder / "clients.crl", "revocation list");
  ASSERT_EQ(files.problems().size(), 1u);
  EXPECT_EQ(files.problems()[0].text(), (folder / "clients.crl") +
                                            ": the revocation list of listener \"secure\" is empty; "
                                            "fill the file, or remove the key that names it");
}

// What was cut off could be the block that matters.
TEST(PemFiles, AFileThatIsTooLargeIsRefusedNotCut) {
  const TemporaryFolder folder;
  const std::string filling((std::size_t{8} << 20), '\n');
  write_file(folder / "fits.pem", filling);
  write_file(folder / "large.pem", filling + "x");
  PemFiles files("listener \"secure\"");
  EXPECT_EQ(files.read(folder / "fits.pem", "key").size(), filling.size());
  EXPECT_TRUE(files.problems().empty());
  files.read(folder / "large.pem", "key");
  ASSERT_EQ(files.problems().size(), 1u);
  EXPECT_THAT(files.problems()[0].text(), testing::HasSubstr("is larger than 8 MiB"));
}

}  // namespace
}  // namespace ebb::control
