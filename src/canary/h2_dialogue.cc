#include "canary/h2_dialogue.h"

#include "canary/answer_head.h"

namespace ebb::canary {
namespace {

constexpr std::uint32_t window = std::uint32_t{64} << 10;
constexpr std::size_t output_max = std::size_t{64} << 10;

wire::H2Limits limits() {
  wire::H2Limits limits;
  limits.stream_window = limits.connection_window = window;
  return limits;
}

}  // namespace

H2Dialogue::H2Dialogue(const Question& question)
    : question_(question), session_(wire::H2Session::Role::client, limits(), *this) {}

Dialogue::Step H2Dialogue::begin(base::BlockPool& pool, base::Chain& out) {
  const auto head = std::make_unique<wire::RequestHead>();  // large
  const std::string text = request_text(question_, "");
  wire::parse_request(text, {}, *head);
  if (session_.request(*head, question_.secure ? "https" : "http", true) == 0) {
    return fail(Fault::unable, "the request cannot be said in HTTP/2");
  }
  session_.collect(pool, out, output_max);
  return Step::waiting;
}

Dialogue::Step H2Dialogue::take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now, base::Chain& out) {
  const auto status = session_.receive(bytes, now);
  session_.collect(pool, out, output_max);
  if (step_ == Step::waiting && status == wire::H2Session::Status::failed) {
    return fail(Fault::malformed, session_.why());
  }
  return step_;
}

Dialogue::Step H2Dialogue::finished(bool) {
  return fail(Fault::truncated, begun_ ? "closed within the answer" : "closed without an answer");
}

void H2Dialogue::part(base::BlockPool& pool, base::Chain& out) {
  session_.go_away(base::Cause::completed);
  session_.go_away(base::Cause::completed);
  session_.collect(pool, out, output_max);
}

void H2Dialogue::on_response(wire::StreamId, const wire::ResponseHead& head) {
  begun_ = true;
  if (head.interim()) return;
  note_head(head, answer_);
  if (head.framing == wire::Framing::none) step_ = Step::complete;
}

void H2Dialogue::on_payload(wire::StreamId stream, base::Slice bytes) {
  note_body(bytes.view(), answer_);
  session_.consumed(stream, bytes.size());
}

void H2Dialogue::on_stream_failed(wire::StreamId, base::Cause cause, bool) {
  if (step_ != Step::waiting) return;
  const bool broken = cause == base::Cause::backend_protocol_error || cause == base::Cause::backend_bad_response;
  step_ = fail(broken ? Fault::malformed : Fault::reset, std::string(base::facts(cause).words));
}

}  // namespace ebb::canary
