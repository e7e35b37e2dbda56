#include "routes/path_form.h"

#include <gtest/gtest.h>

namespace ebb::routes {
namespace {

std::string normal(std::string_view path) {
  std::string out;
  return normalise_path(path, out) ? out : "none";
}

TEST(PathForm, OrdinaryPathsHaveOneSpelling) {
  for (const char* path : {"/", "/a", "/a/b.c/", "/a/.well-known/x", "/a/..b/.c./d", "/...", "/a?x=/../y",
                           "/a?b=%61;//\\", "*", "/~user/a+b,c:d@e!$&'()*=", "/a/b/?", "", "/.../", "/a.", "/a.."}) {
    EXPECT_TRUE(has_one_spelling(path)) << path;
    EXPECT_EQ(normal(path), path);
  }
}

TEST(PathForm, WhatCouldBeSpelledOtherwiseIsLookedAt) {
  for (const char* path : {"//a", "/a//b", "/a//", "/.", "/..", "/./a", "/a/.", "/a/..", "/a/../b", "/a/./b", "/a/..?x",
                           "/%61", "/a%2fb", "/a;b", "/;/a", "/a\\b", "/a/..;/b", "/.;/b"}) {
    EXPECT_FALSE(has_one_spelling(path)) << path;
  }
}

TEST(PathForm, DecodesWhatNeedNotBeEncoded) {
  EXPECT_EQ(normal("/%61dmin"), "/admin");
  EXPECT_EQ(normal("/%41%5a%7A%30%2d%2E%5f%7e"), "/AZz0-._~");
  EXPECT_EQ(normal("/a%2fb%3f%3B%20%c3%a9%25"), "/a%2Fb%3F%3B%20%C3%A9%25");
  EXPECT_EQ(normal("/%2541"), "/%2541");
  EXPECT_EQ(normal("/%25%34%31"), "/%2541");
  EXPECT_EQ(normal("/%61?%61/../x"), "/a?%61/../x");
}

TEST(PathForm, RemovesDotSegmentsAsRfc3986Does) {
  EXPECT_EQ(normal("/a/b/c/./../../g"), "/a/g");
  EXPECT_EQ(normal("/x/../admin"), "/admin");
  EXPECT_EQ(normal("/./admin"), "/admin");
  EXPECT_EQ(normal("/../../admin"), "/admin");
  EXPECT_EQ(normal("/%2e%2E/admin"), "/admin");
  EXPECT_EQ(normal("/a/.."), "/");
  EXPECT_EQ(normal("/a/b/.."), "/a/");
  EXPECT_EQ(normal("/a/."), "/a/");
  EXPECT_EQ(normal("/.."), "/");
  EXPECT_EQ(normal("/."), "/");
  EXPECT_EQ(normal("/a//../b"), "/a/b");
  EXPECT_EQ(normal("//../b"), "/b");
  EXPECT_EQ(normal("/a/..?q"), "/?q");
  EXPECT_EQ(normal("/a/.../b"), "/a/.../b");
}

TEST(PathForm, LeavesSeveralSlashesAndParameters) {
  EXPECT_EQ(normal("/fetch/https://a.test//b;v=1/c"), "/fetch/https://a.test//b;v=1/c");
}

TEST(PathForm, SomePathsHaveNone) {
  for (const char* path : {"/a\\b", "/%", "/%6", "/%6g", "/a%", "/%00", "/a%00b", "/%%41"}) {
    EXPECT_EQ(normal(path), "none") << path;
  }
  EXPECT_EQ(normal("/a?%\\%zz"), "/a?%\\%zz");
}

TEST(PathForm, IsItsOwnNormalForm) {
  for (const char* path : {"/a/%2e./%2E/b", "/%2F..%2f../;a/../%25/..", "//..//./a", "/a/./", "/%5c../b"}) {
    const std::string once = normal(path);
    EXPECT_EQ(normal(once), once) << path;
  }
}

TEST(PathForm, StrictIsWhatNobodyReadsOtherwise) {
  for (const char* path : {"/", "/a/b", "/caf%c3%a9", "/a%20b", "/what%3F", "/100%25", "/a?b;c//d"}) {
    EXPECT_TRUE(is_strict(path)) << path;
  }
  for (const char* path :
       {"/%61", "/a/../b", "/a/.", "//a", "/a//", "/a;b", "/a%2fb", "/a%5Cb", "/a%3bb", "/a\\b", "/%zz", "/%00"}) {
    EXPECT_FALSE(is_strict(path)) << path;
  }
}

TEST(PathForm, OfAConfiguredPathIsTold) {
  std::string wanted;
  for (const char* path : {"", "/", "/api/v1/", "/caf%C3%A9", "/a%2Fb", "/a;v=1", "/a+b", "/a%2Bb"}) {
    EXPECT_TRUE(is_configured_form(path, wanted)) << path << " " << wanted;
  }
  EXPECT_FALSE(is_configured_form("/caf%c3%a9/%40x/../y", wanted));
  EXPECT_EQ(wanted, "/caf%C3%A9/y");
  EXPECT_FALSE(is_configured_form("/%40x", wanted));
  EXPECT_EQ(wanted, "/@x");
  EXPECT_FALSE(is_configured_form("/100%", wanted));
  EXPECT_EQ(wanted, "");
}

}  // namespace
}  // namespace ebb::routes
