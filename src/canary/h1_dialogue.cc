#include "canary/h1_dialogue.h"

#include <fmt/format.h>

#include "canary/answer_head.h"

namespace ebb::canary {

using wire::Parsed;

H1Dialogue::H1Dialogue(const Question& question, bool keep)
    : question_(question), extra_(keep ? "" : "Connection: close\r\n"), keep_(keep) {}
H1Dialogue::H1Dialogue(const Question& question, std::string extra) : question_(question), extra_(std::move(extra)) {}

Dialogue::Step H1Dialogue::begin(base::BlockPool& pool, base::Chain& out) {
  out.push(pool.copy(request_text(question_, extra_)));
  return Step::waiting;
}

Dialogue::Step H1Dialogue::take(base::BlockPool&, const base::Slice& bytes, base::Instant, base::Chain&) {
  begun_ = true;
  if (headed_) return read_body(bytes.view());
  input_ += bytes.view();
  return read_head();
}

Dialogue::Step H1Dialogue::read_head() {
  const auto head = std::make_unique<wire::ResponseHead>();  // large
  for (;;) {
    const Parsed parsed = wire::parse_response(input_, {}, wire::Method::get, *head);
    if (parsed.status == Parsed::Status::refused) return fail(Fault::malformed, parsed.why);
    if (parsed.status == Parsed::Status::incomplete) return Step::waiting;
    if (!head->interim()) {
      headed_ = true;
      note_head(*head, answer_);
      return take_head(*head, std::string_view(input_).substr(parsed.consumed));
    }
    input_.erase(0, parsed.consumed);
  }
}

Dialogue::Step H1Dialogue::take_head(const wire::ResponseHead& head, std::string_view rest) {
  body_ = wire::BodyReader(head.framing, head.content_length);
  keep_ = keep_ && head.keep_alive;
  return read_body(rest);
}

Dialogue::Step H1Dialogue::read_body(std::string_view bytes) {
  while (!body_.complete()) {
    if (bytes.empty()) return Step::waiting;
    const wire::BodyReader::Step step = body_.next(bytes);
    if (step.status == wire::BodyReader::Step::Status::refused) return fail(Fault::malformed, step.why);
    note_body(bytes.substr(step.payload_at, step.payload_size), answer_);
    bytes.remove_prefix(step.consumed);
  }
  // Unrequested bytes would be read as the next answer.
  reusable_ = keep_ && bytes.empty();
  return Step::complete;
}

Dialogue::Step H1Dialogue::finished(bool cleanly) {
  if (headed_ && cleanly && body_.framing() == wire::Framing::until_close) return Step::complete;
  return fail(Fault::truncated, !begun_    ? "closed without an answer"
                                : !headed_ ? "closed within the answer's head"
                                           : "closed within the answer's body");
}

}  // namespace ebb::canary
