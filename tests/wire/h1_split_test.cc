// Heads arrive in pieces: a longer input must never change an answer that was already given.
#include <gtest/gtest.h>

#include <memory>

#include "base/rng.h"
#include "wire/h1_corpus.h"
#include "wire/h1_head.h"

namespace ebb::wire {
namespace {

using Status = Parsed::Status;

void expect_same(const Parsed& prefix, const Parsed& whole, std::size_t size) {
  ASSERT_EQ(prefix.status, whole.status) << "after " << size << " bytes: " << prefix.why << " / " << whole.why;
  ASSERT_EQ(prefix.cause, whole.cause);
  ASSERT_STREQ(prefix.why, whole.why);
  ASSERT_EQ(prefix.consumed, whole.consumed);
}

template <class Parse>
void expect_prefix_consistency(const std::string& bytes, Parse parse) {
  const Parsed whole = parse(std::string_view(bytes));
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    // A copy of exactly this size, so that the sanitizer sees any read behind its end.
    const std::string prefix = bytes.substr(0, size);
    const Parsed parsed = parse(std::string_view(prefix));
    if (parsed.status == Status::incomplete) continue;
    expect_same(parsed, whole, size);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

struct Request {
  Parsed operator()(std::string_view bytes) const { return parse_request(bytes, limits, *head); }
  HeadLimits limits;
  std::shared_ptr<RequestHead> head = std::make_shared<RequestHead>();
};

struct Response {
  Parsed operator()(std::string_view bytes) const { return parse_response(bytes, limits, Method::get, *head); }
  HeadLimits limits;
  std::shared_ptr<ResponseHead> head = std::make_shared<ResponseHead>();
};

TEST(H1Split, GivesTheSameAnswerForEveryPrefixThatHasOne) {
  for (const corpus::Sample& sample : corpus::requests()) {
    SCOPED_TRACE(sample.name);
    expect_prefix_consistency(sample.bytes + "more", Request{});
  }
  for (const corpus::Sample& sample : corpus::responses()) {
    SCOPED_TRACE(sample.name);
    expect_prefix_consistency(sample.bytes + "more", Response{});
  }
}

TEST(H1Split, GivesTheSameAnswerAroundEveryLimit) {
  for (const corpus::Sample& sample : corpus::requests()) {
    SCOPED_TRACE(sample.name);
    for (std::uint32_t limit = 1; limit < 64; ++limit) {
      expect_prefix_consistency(sample.bytes, Request{{.head_bytes = limit}});
      expect_prefix_consistency(sample.bytes, Request{{.target_bytes = limit % 8, .fields = limit % 4}});
    }
  }
}

TEST(H1Split, RefusesMutantsAsSoonAndForTheSameReason) {
  base::Rng rng(9112);
  const auto& requests = corpus::requests();
  const auto& responses = corpus::responses();
  using namespace std::string_view_literals;
  constexpr std::string_view spice = "\r\n \t:,;\0\x7f\xff/*0a"sv;
  for (int round = 0; round < 20000; ++round) {
    const bool request = rng.chance(500);
    std::string bytes =
        request ? requests[rng.below(requests.size())].bytes : responses[rng.below(responses.size())].bytes;
    for (std::uint64_t edits = rng.between(1, 3); edits > 0; --edits) {
      const std::size_t at = rng.below(bytes.size());
      const char byte = rng.chance(500) ? spice[rng.below(spice.size())] : static_cast<char>(rng.next());
      if (rng.chance(500))
        bytes[at] = byte;
      else if (rng.chance(500))
        bytes.insert(at, 1, byte);
      else if (bytes.size() > 1)
        bytes.erase(at, 1);
    }
    SCOPED_TRACE(testing::PrintToString(bytes));
    if (request)
      expect_prefix_consistency(bytes, Request{});
    else
      expect_prefix_consistency(bytes, Response{});
    if (HasFatalFailure()) return;
  }
}

TEST(H1Split, AsksForMoreUntilTheLastByteOfAnAcceptedHead) {
  Request parse;
  for (const corpus::Sample& sample : corpus::requests()) {
    if (sample.cause != base::Cause::completed) continue;
    const std::string_view bytes = sample.bytes;
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_EQ(parse(bytes.substr(0, size)).status, Status::incomplete) << sample.name << " after " << size;
    }
  }
}

TEST(H1Split, KeepsItsViewsWithinTheHead) {
  for (const corpus::Sample& sample : corpus::requests()) {
    RequestHead head;
    if (parse_request(sample.bytes, {}, head).status != Status::complete) continue;
    const auto inside = [&](std::string_view view) {
      return view.empty() || (view.data() >= sample.bytes.data() &&
                              view.data() + view.size() <= sample.bytes.data() + sample.bytes.size());
    };
    EXPECT_TRUE(inside(head.method_text) && inside(head.target) && inside(head.authority) && inside(head.path) &&
                inside(head.upgrade))
        << sample.name;
    for (const Field& field : head.fields.all()) EXPECT_TRUE(inside(field.name) && inside(field.value)) << sample.name;
  }
}

}  // namespace
}  // namespace ebb::wire
