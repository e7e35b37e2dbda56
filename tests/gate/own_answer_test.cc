#include "gate/own_answer.h"

#include <gtest/gtest.h>

#include "gate/field_changes.h"

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
  const std::string_view body = write_own_message(answer, {}, head, text);
  EXPECT_EQ(body, "503 Service Unavailable\nthe backend has no endpoint that may take the request (backend_empty)\n");
  EXPECT_EQ(head.status, 503);
  EXPECT_EQ(head.content_length, body.size());
  EXPECT_EQ(value(head, "retry-after"), "1");
}

TEST(OwnAnswer, ToHeadHasTheLengthButNoBody) {
  wire::ResponseHead head;
  std::string text;
  const std::string_view body =
      write_own_message(own_answer(Cause::route_not_found, wire::Method::head, true), {}, head, text);
  EXPECT_EQ(body, "");
  EXPECT_GT(head.content_length, 0u);
  EXPECT_EQ(head.framing, wire::Framing::none);
}

TEST(OwnAnswer, ToACallOfGrpcIsAStatusOfGrpc) {
  wire::ResponseHead head;
  std::string text;
  OwnAnswer answer = own_answer(Cause::backend_refused, wire::Method::post, true);
  answer.grpc = true;
  EXPECT_EQ(write_own_message(answer, {}, head, text), "");
  EXPECT_EQ(head.status, 200);
  EXPECT_FALSE(head.has_length);
  EXPECT_EQ(value(head, "content-type"), "application/grpc");
  EXPECT_EQ(value(head, "grpc-status"), "14");
  EXPECT_EQ(value(head, "grpc-message"), "the endpoint refused the connection (backend_refused)");
}

TEST(OwnAnswer, SaysWhereARedirectLeads) {
  wire::ResponseHead head;
  std::string text;
  EXPECT_EQ(write_own_message({.status = 308, .location = "https://a/"}, {}, head, text), "");
  EXPECT_EQ(head.status, 308);
  EXPECT_EQ(value(head, "location"), "https://a/");
  EXPECT_EQ(value(head, "content-type"), "(none)");
  EXPECT_TRUE(head.has_length);
  EXPECT_EQ(head.content_length, 0u);
}

TEST(OwnAnswer, WithoutContentHasNoLength) {
  wire::ResponseHead head;
  std::string text;
  EXPECT_EQ(write_own_message({.status = 204}, {}, head, text), "");
  EXPECT_FALSE(head.has_length);
}

TEST(OwnAnswer, SaysWhenToComeBack) {
  wire::ResponseHead head;
  std::string text;
  OwnAnswer answer = own_answer(Cause::client_rate_limited, wire::Method::get, true);
  answer.retry_after = 12;
  const std::string_view body = write_own_message(answer, {}, head, text);
  EXPECT_EQ(value(head, "retry-after"), "12");
  EXPECT_TRUE(body.starts_with("429 Too Many Requests\n")) << body;
  EXPECT_EQ(head.content_length, body.size());
}

TEST(OwnAnswer, HasTheBodyOfTheRouteThenTheGlobalOneThenALine) {
  wire::ResponseHead head;
  std::string text;
  const routes::ErrorBodyModel own{.statuses = {403, 403}, .text = "own", .content_type = "text/own"};
  const routes::ErrorBodyModel global[] = {{.statuses = {400, 499}, .text = "any", .content_type = "text/any"}};
  OwnAnswer answer = own_answer(Cause::client_address_refused, wire::Method::get, true);
  EXPECT_EQ(write_own_message(answer, global, head, text), "any");
  EXPECT_EQ(value(head, "content-type"), "text/any");
  answer.body = &own;
  EXPECT_EQ(write_own_message(answer, global, head, text), "own");
  EXPECT_EQ(value(head, "content-type"), "text/own");
  EXPECT_EQ(head.content_length, 3u);
  EXPECT_TRUE(
      write_own_message(own_answer(Cause::internal, wire::Method::get, true), global, head, text).starts_with("500 "));
  answer.grpc = true;
  EXPECT_EQ(write_own_message(answer, global, head, text), "");
  EXPECT_EQ(value(head, "grpc-status"), "7");
}

TEST(OwnAnswer, IsChangedByItsRoute) {
  wire::ResponseHead head;
  std::string text;
  ResponseChanges changes;
  changes.hsts = "max-age=1";
  OwnAnswer answer = own_answer(Cause::route_not_found, wire::Method::get, true);
  answer.changes = &changes;
  write_own_message(answer, {}, head, text);
  EXPECT_EQ(value(head, "strict-transport-security"), "max-age=1");
}

TEST(OwnAnswer, ToAResponseOfGrpcThatHasBegunIsItsTrailers) {
  EXPECT_EQ(grpc_trailers(Cause::request_timeout),
            "grpc-status: 4\r\n"
            "grpc-message: the whole exchange took longer than its route allows (request_timeout)\r\n");
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
