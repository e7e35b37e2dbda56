#include "wire/h2_preface.h"

#include <gtest/gtest.h>

namespace ebb::wire {
namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

TEST(H2Preface, IsFoundHoweverItIsCut) {
  for (std::size_t size = 0; size < preface.size(); ++size) {
    EXPECT_EQ(find_h2_preface(preface.substr(0, size)), Preface::incomplete) << size;
  }
  EXPECT_EQ(find_h2_preface(preface), Preface::whole);
  EXPECT_EQ(find_h2_preface(std::string(preface) + "more"), Preface::whole);
}

TEST(H2Preface, IsNotFoundInRequests) {
  for (const char* bytes : {"GET / HTTP/1.1\r\n", "POST / HTTP/1.1\r\n", "PRI / HTTP/2.0\r\n\r\n",
                            "PRI * HTTP/2.0\r\n\r\nXM\r\n\r\n", "PROPFIND"}) {
    EXPECT_EQ(find_h2_preface(bytes), Preface::absent) << bytes;
  }
}

TEST(H2Preface, WhatSpeaksNoHttpGetsNoAnswer) {
  EXPECT_TRUE(speaks_no_http("INVALID CONNECTION PREFACE\r\n\r\n"));
  EXPECT_TRUE(speaks_no_http("GET /\r\n\r\n"));  // HTTP/0.9 has no status line
  EXPECT_FALSE(speaks_no_http("GET /"));         // may go on
  EXPECT_FALSE(speaks_no_http("GET /\r\nHost: a\r\n\r\n"));
  EXPECT_FALSE(speaks_no_http("\r\n\r\n"));
  EXPECT_FALSE(speaks_no_http("G(T / HTTP/1.1\r\n\r\n"));
}

}  // namespace
}  // namespace ebb::wire
