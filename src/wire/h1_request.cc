// Request heads (RFC 9112 3). Before: the client's bytes. Next: h1_section for the fields.
#include "wire/h1_field.h"
#include "wire/h1_head.h"
#include "wire/h1_scan.h"
#include "wire/h1_section.h"

namespace ebb::wire {
namespace {

using base::Cause;

Parsed bad_request(const char* why) { return refused(Cause::client_bad_request, why); }

// Reads one head; `at_` moves along the request line piece by piece. Each piece is accepted, refused by its first
// offending byte, or incomplete.
class RequestReader {
 public:
  RequestReader(std::string_view bytes, const HeadLimits& limits, RequestHead& out)
      : bytes_(bytes), at_(bytes.data()), end_(at_ + bytes.size()), limits_(limits), out_(out) {}

  Parsed read();
  // Refuses an incomplete head that already has the maximum length.
  Parsed too_long() const {
    return in_target_ ? refused(Cause::client_uri_too_long, "request target too long")
                      : refused(Cause::client_head_too_large, "request head too long");
  }

 private:
  using Status = Parsed::Status;

  Parsed skip_empty_lines();
  Parsed read_method();
  Parsed read_target();
  Parsed read_version();
  Parsed read_target_form();
  Parsed read_absolute_form(std::string_view rest);
  Parsed conclude(const SectionFacts& facts);

  static constexpr Parsed passed = {.status = Status::complete};

  std::string_view bytes_;
  const char* at_;
  const char* end_;
  const HeadLimits& limits_;
  RequestHead& out_;
  bool in_target_ = false;
};

// RFC 9112 2.2: ignore empty lines before a request line; old clients sent them after a body.
Parsed RequestReader::skip_empty_lines() {
  while (at_ != end_ && *at_ == '\r') {
    if (end_ - at_ < 2) return {};
    if (at_[1] != '\n') return bad_request("bare CR before the request line");
    at_ += 2;
  }
  return passed;
}

Parsed RequestReader::read_method() {
  const char* method_end = scan::skip_token(at_, end_);
  if (method_end == end_) return {};
  if (*method_end != ' ' || method_end == at_) return bad_request("invalid method");
  out_.method_text = {at_, method_end};
  out_.method = method_of(out_.method_text);
  if (out_.method == Method::connect) return refused(Cause::client_method_refused, "CONNECT is not served");
  at_ = method_end + 1;
  return passed;
}

Parsed RequestReader::read_target() {
  in_target_ = true;
  const char* target_end = scan::skip_target(at_, end_);
  if (target_end - at_ > static_cast<std::ptrdiff_t>(limits_.target_bytes)) return too_long();
  if (target_end == end_) return {};
  if (*target_end == '\r') return bad_request("request line without a version");
  if (*target_end != ' ' || target_end == at_) return bad_request("invalid request target");
  out_.target = {at_, target_end};
  at_ = target_end + 1;
  in_target_ = false;
  return passed;
}

Parsed RequestReader::read_version() {
  constexpr std::string_view shape = "HTTP/d.d\r\n";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (at_ + i == end_) return {};
    const bool fits = shape[i] == 'd' ? scan::is_digit(at_[i]) : at_[i] == shape[i];
    if (!fits) return bad_request("invalid HTTP version or end of the request line");
  }
  if (at_[5] != '1') return refused(Cause::client_version_refused, "HTTP major version other than 1");
  // RFC 9110 2.5: read a higher minor version as the highest known version.
  out_.minor = at_[7] == '0' ? 0 : 1;
  at_ += shape.size();
  return passed;
}

Parsed RequestReader::read_target_form() {
  const std::string_view target = out_.target;
  if (target.front() == '/') {
    out_.path = target;
    return passed;
  }
  if (target == "*") {
    if (out_.method != Method::options) return bad_request("asterisk form is for OPTIONS only");
    out_.path = target;
    return passed;
  }
  const std::size_t scheme_end = target.find("://");
  const std::string_view scheme = target.substr(0, scheme_end);
  if (scheme_end == std::string_view::npos ||
      (!equals_ignoring_case(scheme, "http") && !equals_ignoring_case(scheme, "https"))) {
    return bad_request("request target in no known form");
  }
  return read_absolute_form(target.substr(scheme_end + 3));
}

// RFC 9112 3.2.2: the target's authority overrides Host.
Parsed RequestReader::read_absolute_form(std::string_view rest) {
  const std::size_t authority_end = rest.find_first_of("/?");
  out_.authority = rest.substr(0, authority_end);
  if (!valid_authority(out_.authority)) return bad_request("invalid authority in the request target");
  if (authority_end == std::string_view::npos) {
    // RFC 9112 3.2.4: OPTIONS without a path concerns the server as a whole. Otherwise the path is "/": reuse the slash
    // before the authority, so that the view stays within the head.
    out_.path = out_.method == Method::options ? std::string_view("*") : std::string_view(rest.data() - 1, 1);
    return passed;
  }
  if (rest[authority_end] == '?') return bad_request("query without a path in the request target");
  out_.path = rest.substr(authority_end);
  return passed;
}

Parsed RequestReader::conclude(const SectionFacts& facts) {
  if (!facts.has_host && out_.minor >= 1) return bad_request("missing Host");
  if (out_.authority.empty()) out_.authority = facts.host;
  if (facts.chunked) {
    out_.framing = Framing::chunked;
  } else if (facts.has_length) {
    out_.framing = Framing::length;
    out_.content_length = facts.content_length;
  }
  out_.keep_alive = facts.keep_alive(out_.minor);
  const bool has_content = facts.chunked || facts.content_length != 0;
  out_.expect_continue = facts.expects_continue && has_content;
  out_.te_trailers = facts.te_trailers;
  // A tunnel of HTTP/2 frames would carry requests past the routes, so drop the offer; RFC 9110 7.8 lets a server
  // ignore Upgrade.
  if (facts.wants_upgrade && out_.minor >= 1 && !list_has_token(facts.upgrade, "h2c")) out_.upgrade = facts.upgrade;
  return passed;
}

Parsed RequestReader::read() {
  Parsed step = skip_empty_lines();
  if (step.status == Status::complete) step = read_method();
  if (step.status == Status::complete) step = read_target();
  if (step.status == Status::complete) step = read_version();
  if (step.status == Status::complete) step = read_target_form();
  if (step.status != Status::complete) return step;

  SectionFacts facts;
  const SectionRules rules{.request = true, .minor = out_.minor, .fields_limit = limits_.fields};
  const Parsed section = read_section(bytes_, at_, rules, out_.fields, facts);
  if (section.status != Status::complete) return section;
  step = conclude(facts);
  return step.status == Status::complete ? section : step;
}

}  // namespace

void clear(RequestHead& head) {
  head.method = Method::other;
  head.method_text = head.target = head.authority = head.path = head.upgrade = {};
  head.minor = 1;
  head.framing = Framing::none;
  head.content_length = 0;
  head.keep_alive = true;
  head.expect_continue = head.te_trailers = false;
  head.fields.clear();
}

Parsed parse_request(std::string_view bytes, const HeadLimits& limits, RequestHead& out) {
  clear(out);
  // Never looks at bytes beyond the limit: the answer then does not depend on how many of them have arrived.
  RequestReader reader(bytes.substr(0, limits.head_bytes), limits, out);
  const Parsed parsed = reader.read();
  if (parsed.status == Parsed::Status::incomplete && bytes.size() >= limits.head_bytes) return reader.too_long();
  return parsed;
}

}  // namespace ebb::wire
