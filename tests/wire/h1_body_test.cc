#include "wire/h1_body.h"

#include <gtest/gtest.h>

#include "wire/h1_corpus.h"

namespace ebb::wire {
namespace {

using Status = BodyReader::Step::Status;

struct Outcome {
  Status status = Status::more;
  std::string payload;
  std::string trailers;
  std::string why;
  std::size_t consumed = 0;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void feed(BodyReader& reader, std::string_view bytes, Outcome& outcome) {
  while (!bytes.empty() && outcome.status == Status::more) {
    const BodyReader::Step step = reader.next(bytes);
    outcome.status = step.status;
    outcome.trailers = reader.trailers();
    if (step.status == Status::refused) {
      outcome.why = step.why;
      outcome.consumed = 0;  // where exactly it was noticed is not part of the meaning
      return;
    }
    outcome.payload += bytes.substr(step.payload_at, step.payload_size);
    outcome.consumed += step.consumed;
    ASSERT_LE(step.payload_at + step.payload_size, step.consumed);
    if (step.status == Status::more) ASSERT_GT(step.consumed, 0u);
    bytes.remove_prefix(step.consumed);
  }
}

Outcome read_chunked(std::initializer_list<std::string_view> pieces) {
  BodyReader reader(Framing::chunked, 0);
  Outcome outcome;
  for (const std::string_view piece : pieces) feed(reader, piece, outcome);
  return outcome;
}

TEST(H1Body, ReadsTheChunkedCorpusWithItsVerdicts) {
  for (const corpus::Sample& sample : corpus::chunked()) {
    const Outcome outcome = read_chunked({sample.bytes});
    const bool accepted = sample.cause == base::Cause::completed;
    EXPECT_EQ(outcome.status, accepted ? Status::complete : Status::refused) << sample.name << ": " << outcome.why;
  }
}

TEST(H1Body, IsTheSameHoweverTheBytesAreSplit) {
  for (const corpus::Sample& sample : corpus::chunked()) {
    SCOPED_TRACE(sample.name);
    const std::string_view bytes = sample.bytes;
    const Outcome whole = read_chunked({bytes});
    for (std::size_t first = 0; first <= bytes.size(); ++first) {
      for (std::size_t second = first; second <= bytes.size(); ++second) {
        const Outcome split =
            read_chunked({bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)});
        ASSERT_EQ(split, whole) << "split at " << first << " and " << second << ": " << split.why;
      }
    }
  }
}

TEST(H1Body, TakesOneByteAtATime) {
  BodyReader reader(Framing::chunked, 0);
  Outcome outcome;
  for (const char c : std::string("5;x\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n")) feed(reader, {&c, 1}, outcome);
  EXPECT_EQ(outcome.status, Status::complete);
  EXPECT_EQ(outcome.payload, "hello");
  EXPECT_EQ(outcome.trailers, "X-Sum: 1\r\n");
}

TEST(H1Body, LeavesBytesBehindTheMessageAlone) {
  const Outcome outcome = read_chunked({"1\r\nx\r\n0\r\n\r\nGET /"});
  EXPECT_EQ(outcome.status, Status::complete);
  EXPECT_EQ(outcome.consumed, 11u);
  BodyReader counted(Framing::length, 3);
  const BodyReader::Step step = counted.next("abcdef");
  EXPECT_EQ(step.status, Status::complete);
  EXPECT_EQ(step.consumed, 3u);
}

TEST(H1Body, DropsTrailersThatMayNotBeThere) {
  const Outcome outcome = read_chunked(
      {"0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\nX-Sum:1 \r\nSet-Cookie: a\r\nConnection: x\r\n"
       "authorization: b\r\nX-Forwarded-For: c\r\nEtag: \"d\"\r\n\r\n"});
  EXPECT_EQ(outcome.trailers, "X-Sum: 1\r\nEtag: \"d\"\r\n");
}

TEST(H1Body, BoundsTrailersDroppedOrNot) {
  for (const std::string name : {"X-Kept", "Host"}) {
    std::string body = "0\r\n";
    while (body.size() <= 8192) body += name + ": " + std::string(100, 'x') + "\r\n";
    EXPECT_EQ(read_chunked({body + "\r\n"}).why, "trailers too long");
    EXPECT_EQ(read_chunked({"0\r\n" + name + ": " + std::string(8192, 'x')}).why, "trailers too long");
  }
}

TEST(H1Body, BoundsExtensionsOverTheWholeMessage) {
  std::string body;
  for (int i = 0; i < 50; ++i) body += "1;" + std::string(100, 'x') + "\r\ny\r\n";
  EXPECT_EQ(read_chunked({body}).why, "chunk extensions too long");
}

TEST(H1Body, StaysRefused) {
  BodyReader reader(Framing::chunked, 0);
  EXPECT_EQ(reader.next("x").status, Status::refused);
  EXPECT_EQ(reader.next("0\r\n\r\n").status, Status::refused);
  EXPECT_FALSE(reader.complete());
}

TEST(H1Body, CountsALength) {
  BodyReader reader(Framing::length, 10);
  EXPECT_EQ(reader.remaining(), 10u);
  EXPECT_EQ(reader.next("abcd").payload_size, 4u);
  reader.skip(4);
  EXPECT_EQ(reader.remaining(), 2u);
  EXPECT_FALSE(reader.complete());
  EXPECT_EQ(reader.next("xy").status, Status::complete);
  EXPECT_TRUE(reader.complete());
  BodyReader skipped(Framing::length, 5);
  skipped.skip(5);
  EXPECT_TRUE(skipped.complete());
}

TEST(H1Body, IsCompleteAtOnceWithoutContent) {
  EXPECT_TRUE(BodyReader().complete());
  EXPECT_TRUE(BodyReader(Framing::none, 0).complete());
  EXPECT_TRUE(BodyReader(Framing::length, 0).complete());
  EXPECT_EQ(BodyReader(Framing::length, 0).next("abc").consumed, 0u);
  EXPECT_EQ(BodyReader().remaining(), 0u);
}

TEST(H1Body, HasNoEndOfItsOwnUntilClose) {
  BodyReader reader(Framing::until_close, 0);
  const BodyReader::Step step = reader.next("0\r\n\r\n");
  EXPECT_EQ(step.status, Status::more);
  EXPECT_EQ(step.payload_size, 5u);
  EXPECT_EQ(reader.remaining(), UINT64_MAX);
  EXPECT_EQ(BodyReader(Framing::chunked, 0).remaining(), UINT64_MAX);
}

}  // namespace
}  // namespace ebb::wire
