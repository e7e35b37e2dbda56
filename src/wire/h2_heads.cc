#include "wire/h2_heads.h"

#include "wire/h1_field.h"
#include "wire/h1_scan.h"
#include "wire/h1_section.h"
#include "wire/h1_write.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Status = Parsed::Status;

constexpr std::uint16_t no_content = 204;
constexpr std::uint16_t not_modified = 304;

Parsed bad_request(const char* why) { return refused(Cause::client_bad_request, why); }

// RFC 9113 8.2.2. nghttp2 refuses them too; an HTTP/1 endpoint must never get such a field.
bool belongs_to_connection(FieldId id) {
  switch (id) {
    case FieldId::connection:
    case FieldId::transfer_encoding:
    case FieldId::keep_alive:
    case FieldId::proxy_connection:
    case FieldId::upgrade: return true;
    default: return false;
  }
}

Parsed add_field(Field field, const SectionRules& rules, Fields& fields, SectionFacts& facts) {
  if (!is_token(field.name)) return bad_request("invalid byte in a field name");
  if (!is_field_value(field.value)) return bad_request("invalid byte in a field value");
  if (fields.size() >= std::min<std::size_t>(rules.fields_limit, fields_max)) {
    return refused(Cause::client_head_too_large, "too many fields");
  }
  field.id = field_id(field.name);
  if (belongs_to_connection(field.id)) return bad_request("connection field in HTTP/2");
  if (field.id != FieldId::other) {
    const Parsed verdict = note_field(field, rules, facts);
    if (verdict.status == Status::refused) return verdict;
  }
  fields.add(field);
  return {};
}

bool is_path(std::string_view path) {
  return path.starts_with('/') &&
         scan::skip_target(path.data(), path.data() + path.size()) == path.data() + path.size();
}

class RequestReader {
 public:
  RequestReader(const HeadLimits& limits, std::string& cookies, RequestHead& out)
      : rules_{.request = true, .fields_limit = limits.fields}, limits_(limits), cookies_(cookies), out_(out) {
    cookies_.clear();
  }

  Parsed take(std::string_view name, std::string_view value);
  Parsed conclude(bool ends_stream);

 private:
  void take_pseudo(std::string_view name, std::string_view value);
  Parsed take_cookie(std::string_view value);
  Parsed conclude_authority();
  Parsed conclude_target();

  SectionRules rules_;
  const HeadLimits& limits_;
  std::string& cookies_;
  RequestHead& out_;
  SectionFacts facts_;
  std::string_view scheme_;
  std::string_view protocol_;
  std::size_t cookie_at_ = fields_max;  // index of the joined Cookie field
};

void RequestReader::take_pseudo(std::string_view name, std::string_view value) {
  if (name == ":method") {
    out_.method_text = value;
    out_.method = method_of(value);
  } else if (name == ":path") {
    out_.path = out_.target = value;
  } else if (name == ":authority") {
    out_.authority = value;
  } else if (name == ":scheme") {
    scheme_ = value;
  } else if (name == ":protocol") {
    protocol_ = value;
  }
}

// RFC 9113 8.2.3: cookie crumbs are joined before the head reaches HTTP/1. They count as one field.
Parsed RequestReader::take_cookie(std::string_view value) {
  if (value.empty()) return {};  // "; " at the end of a line would be invalid
  if (cookie_at_ == fields_max) {
    cookie_at_ = out_.fields.size();
    return add_field({.name = "cookie", .value = value}, rules_, out_.fields, facts_);
  }
  if (!is_field_value(value)) return bad_request("invalid byte in a field value");
  if (cookies_.empty()) cookies_ = out_.fields.all()[cookie_at_].value;
  cookies_.append("; ").append(value);
  return {};
}

Parsed RequestReader::take(std::string_view name, std::string_view value) {
  if (name.starts_with(':')) {
    take_pseudo(name, value);
    return {};
  }
  if (name == "cookie") return take_cookie(value);
  return add_field({.name = name, .value = value}, rules_, out_.fields, facts_);
}

// Endpoints and routes expect one authority. Two different authorities are a way to smuggle requests past routes.
Parsed RequestReader::conclude_authority() {
  if (out_.authority.empty()) {
    if (!facts_.has_host) return bad_request("neither :authority nor Host");
    out_.authority = facts_.host;
    return {};
  }
  if (!valid_authority(out_.authority)) return bad_request("invalid :authority");
  if (facts_.has_host && !equals_ignoring_case(facts_.host, out_.authority)) {
    return bad_request(":authority and Host differ");
  }
  return {};
}

Parsed RequestReader::conclude_target() {
  if (!is_token(out_.method_text)) return bad_request("invalid :method");
  if (out_.method == Method::connect && protocol_.empty()) {
    return refused(Cause::client_method_refused, "CONNECT is not served");
  }
  if (!protocol_.empty() && (out_.method != Method::connect || !is_token(protocol_))) {
    return bad_request("invalid :protocol");
  }
  // As in HTTP/1: the tunnel's frames would carry requests past the routes.
  if (equals_ignoring_case(protocol_, "h2c")) {
    return refused(Cause::client_method_refused, "CONNECT is not served for h2c");
  }
  if (!equals_ignoring_case(scheme_, "http") && !equals_ignoring_case(scheme_, "https")) {
    return bad_request(":scheme other than http and https");
  }
  if (out_.path.size() > limits_.target_bytes) return refused(Cause::client_uri_too_long, "request target too long");
  if (out_.path == "*") {
    return out_.method == Method::options ? Parsed{} : bad_request("asterisk form is for OPTIONS only");
  }
  return is_path(out_.path) ? Parsed{} : bad_request("invalid :path");
}

Parsed RequestReader::conclude(bool ends_stream) {
  if (const Parsed target = conclude_target(); target.status == Status::refused) return target;
  if (const Parsed authority = conclude_authority(); authority.status == Status::refused) return authority;
  if (!cookies_.empty()) out_.fields.all()[cookie_at_].value = cookies_;
  if (!ends_stream) {
    out_.framing = facts_.has_length ? Framing::length : Framing::chunked;
    out_.content_length = facts_.content_length;
  }
  out_.expect_continue = facts_.expects_continue && !ends_stream;
  out_.te_trailers = facts_.te_trailers;
  out_.upgrade = protocol_;
  return {.status = Status::complete};
}

Parsed bad_response(const char* why) { return refused(Cause::backend_bad_response, why); }

// nghttp2 has checked that there is a status of three digits.
std::uint16_t read_status(std::string_view text) {
  std::uint16_t status = 0;
  for (const char c : text) status = static_cast<std::uint16_t>(status * 10 + (c - '0'));
  return status;
}

// RFC 9113 8.1: the stream's end is the message's end; a length only announces it. If the head ends the stream, the
// length is known to be 0: without it an HTTP/1 client would wait for the connection to close.
void conclude_response(const SectionFacts& facts, Method request_method, bool ends_stream, ResponseHead& out) {
  const bool never_has_body =
      out.interim() || request_method == Method::head || out.status == no_content || out.status == not_modified;
  out.reason = reason_phrase(out.status);
  out.has_length = facts.has_length ? out.status != no_content && !out.interim() : ends_stream && !never_has_body;
  out.content_length = facts.content_length;
  if (ends_stream || never_has_body) {
    out.framing = Framing::none;
  } else {
    out.framing = facts.has_length ? Framing::length : Framing::chunked;
  }
}

}  // namespace

Parsed read_request_block(const HeaderBlock& block, const HeadLimits& limits, bool ends_stream, std::string& cookies,
                          RequestHead& out) {
  clear(out);
  if (block.path_too_large()) return refused(Cause::client_uri_too_long, "request target too long");
  if (block.too_large()) return refused(Cause::client_head_too_large, "request head too long");
  RequestReader reader(limits, cookies, out);
  HeaderBlock::Walk walk(block);
  for (std::string_view name, value; walk.next(name, value);) {
    const Parsed verdict = reader.take(name, value);
    if (verdict.status == Status::refused) return verdict;
  }
  return reader.conclude(ends_stream);
}

Parsed read_response_block(const HeaderBlock& block, const HeadLimits& limits, Method request_method, bool ends_stream,
                           ResponseHead& out) {
  clear(out);
  if (block.too_large()) return bad_response("response head too long");
  const SectionRules rules{.request = false, .fields_limit = limits.fields};
  SectionFacts facts;
  HeaderBlock::Walk walk(block);
  for (std::string_view name, value; walk.next(name, value);) {
    if (name == ":status") {
      out.status = read_status(value);
      continue;
    }
    const Parsed verdict = add_field({.name = name, .value = value}, rules, out.fields, facts);
    if (verdict.status == Status::refused) return bad_response(verdict.why);
  }
  if (out.status < 100) return bad_response("status code below 100");
  conclude_response(facts, request_method, ends_stream, out);
  return {.status = Status::complete};
}

const char* read_trailer_block(const HeaderBlock& block, std::string& out) {
  out.clear();
  if (block.decoded() > trailer_bytes_max) return "trailers too long";
  HeaderBlock::Walk walk(block);
  for (std::string_view name, value; walk.next(name, value);) {
    if (!is_token(name) || !is_field_value(value)) return "invalid trailer field";
    if (!may_be_trailer({.name = name, .value = value, .id = field_id(name)})) continue;
    out.append(name).append(": ").append(value).append("\r\n");
  }
  return nullptr;
}

}  // namespace ebb::wire
