#include "gate/own_answer.h"

#include <gtest/gtest.h>

namespace ebb::gate {
namespace {

using base::Cause;

std::string_view value(const wire::ResponseHead& head, std::string_view name) {
  const wire::Field* field = head.fields.find(name);
  return field == nullptr ? std::string_view("(none)") : field->value;
}

TEST(OwnAnswer, NamesItsCauseInTheBody) {
  wire::ResponseHead head;
  std::string text;
  const OwnAnswer answer = own_answer(Cause::backend_empty, wire::Method::get, true);
  const std::string_view body = write_own_message(answer, head, text);
  EXPECT_EQ(body, "503 Service Unavailable\nthe backend has no endpoint that may take the request (backend_empty)\n");
  EXPECT_EQ(head.status, 503);
  EXPECT_EQ(head.content_length, body.size());
  EXPECT_EQ(value(head, "retry-after"), "1");
}

TEST(OwnAnswer, ToHeadHasTheLengthButNoBody) {
  wire::ResponseHead head;
  std::string text;
  const std::string_view body =
      write_own_message(own_answer(Cause::route_not_found, wire::Method::head, true), head, text);
  EXPECT_EQ(body, "");
  EXPECT_GT(head.content_length, 0u);
  EXPECT_EQ(head.framing, wire::Framing::none);
}

TEST(OwnAnswer, ToACallOfGrpcIsAStatusOfGrpc) {
  wire::ResponseHead head;
  std::string text;
  OwnAnswer answer = own_answer(Cause::backend_refused, wire::Method::post, true);
  answer.grpc = true;
  EXPECT_EQ(write_own_message(answer, head, text), "");
  EXPECT_EQ(head.status, 200);
  EXPECT_FALSE(head.has_length);
  EXPECT_EQ(value(head, "content-type"), "application/grpc");
  EXPECT_EQ(value(head, "grpc-status"), "14");
  EXPECT_EQ(value(head, "grpc-message"), "the endpoint refused the connection (backend_refused)");
}

TEST(OwnAnswer, EveryCauseWithAStatusHasOneOfGrpc) {
  for (std::size_t i = 0; i < base::cause_count; ++i) {
    const auto cause = static_cast<Cause>(i);
    if (base::facts(cause).status != 0) EXPECT_GT(grpc_status(base::facts(cause).status, cause), 0);
  }
  EXPECT_EQ(grpc_status(504, Cause::request_timeout), 4);
  EXPECT_EQ(grpc_status(404, Cause::route_not_found), 12);
}

}  // namespace
}  // namespace ebb::gate
