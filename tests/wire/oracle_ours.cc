#include "wire/h1_body.h"
#include "wire/oracle_verdict.h"

namespace ebb::wire::oracle {
namespace {

template <class Head>
HeadVerdict verdict(const Parsed& parsed, const Head& head) {
  HeadVerdict result{.status = parsed.status, .why = parsed.why};
  if (parsed.status != Parsed::Status::complete) return result;
  result.framing = head.framing;
  if (head.framing == Framing::length) result.content_length = head.content_length;
  return result;
}

HeadVerdict request(std::string_view bytes) {
  RequestHead head;
  const Parsed parsed = parse_request(bytes, {}, head);
  return verdict(parsed, head);
}

HeadVerdict response(std::string_view bytes) {
  ResponseHead head;
  const Parsed parsed = parse_response(bytes, {}, Method::get, head);
  return verdict(parsed, head);
}

BodyVerdict chunked(std::string_view bytes) {
  BodyReader reader(Framing::chunked, 0);
  BodyVerdict result;
  while (result.status == Parsed::Status::incomplete && result.consumed < bytes.size()) {
    const BodyReader::Step step = reader.next(bytes.substr(result.consumed));
    if (step.status == BodyReader::Step::Status::refused) return {.status = Parsed::Status::refused, .why = step.why};
    result.payload += bytes.substr(result.consumed + step.payload_at, step.payload_size);
    result.consumed += step.consumed;
    if (step.status == BodyReader::Step::Status::complete) result.status = Parsed::Status::complete;
  }
  return result;
}

}  // namespace

Reader ours() { return {"ours", request, response, chunked}; }

}  // namespace ebb::wire::oracle
