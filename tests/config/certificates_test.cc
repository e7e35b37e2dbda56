#include "config/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/temporary_folder.h"

namespace ebb::config {
namespace {

TEST(Certificates, AreReadWithTheirOrigin) {
  const TemporaryFolder folder;
  write_file(folder / "a.pem", "certificate");
  write_file(folder / "a.key", "key");
  routes::ListenerModel listener;
  listener.certificates = {{folder / "a.pem", folder / "a.key"}};
  const auto texts = read_certificates(listener);
  ASSERT_TRUE(texts);
  ASSERT_EQ(texts->size(), 1u);
  EXPECT_EQ(texts->at(0).certificate_pem, "certificate");
  EXPECT_EQ(texts->at(0).key_pem, "key");
  EXPECT_EQ(texts->at(0).origin, folder / "a.pem");
}

TEST(Certificates, EachFileThatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  write_file(folder / "a.pem", "certificate");
  routes::ListenerModel listener;
  listener.name = "secure";
  listener.certificates = {{folder / "a.pem", folder / "a.key"}, {folder / "b.pem", folder.path().string()}};
  const auto texts = read_certificates(listener);
  ASSERT_FALSE(texts);
  ASSERT_EQ(texts.error().size(), 3u);
  EXPECT_EQ(texts.error()[0].text(), (folder / "a.key") +
                                         ": the key of listener \"secure\" cannot be read: No such file or directory; "
                                         "put the file there and let this process read it, or correct the path");
  EXPECT_THAT(texts.error()[2].text(), testing::HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace ebb::config
