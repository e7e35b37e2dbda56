#include "admin/http_session.h"

#include <algorithm>

#include "wire/h1_write.h"
#include "wire/http_date.h"

namespace ebb::admin {

namespace {

bool asks_for_health(std::string_view path) {
  path = path.substr(0, path.find('?'));
  return path == "/healthz" || path == "/readyz";
}

}  // namespace

void HttpSession::take(base::Slice bytes, base::Instant, base::Chain& out) {
  input_ += bytes.view();
  if (state_ == State::reading) read_request(out);
}

void HttpSession::refill(base::Chain& out) {
  if (state_ != State::answered) return;
  state_ = keep_alive_ ? State::reading : State::over;
  awaited_ = 0;
  if (state_ == State::over) return input_.clear();
  if (!input_.empty()) read_request(out);
}

bool HttpSession::finish_input(base::Chain&) {
  keep_alive_ = false;
  return state_ == State::working || state_ == State::answered;
}

// An incomplete request gets an answer; a silent connection does not (RFC 9110 15.5.9).
void HttpSession::give_up(base::Chain& out) {
  if (!input_.empty()) refuse(408, "the request did not arrive in time", out);
}

void HttpSession::leave(base::Chain&) {
  keep_alive_ = false;
  if (state_ == State::reading && input_.empty() && exchange_ > 0) state_ = State::over;
}

HttpSession::Waiting HttpSession::waiting() const {
  switch (state_) {
    case State::reading: return Waiting::request;
    case State::working: return Waiting::work;
    case State::answered: return keep_alive_ ? Waiting::request : Waiting::nothing;
    case State::over: return Waiting::nothing;
  }
  return Waiting::nothing;
}

void HttpSession::read_request(base::Chain& out) {
  if (input_.size() < awaited_) return;
  head_only_ = false;
  wire::RequestHead& head = desk_.head;
  const wire::Parsed parsed = wire::parse_request(input_, desk_.limits.head, head);
  switch (parsed.status) {
    case wire::Parsed::Status::incomplete: return;
    case wire::Parsed::Status::refused: return refuse(base::facts(parsed.cause).status, parsed.why, out);
    case wire::Parsed::Status::complete: break;
  }
  head_only_ = head.method == wire::Method::head;
  minor_ = head.minor;
  const Denial denial = deny(desk_.access, head);
  if (denial.status != 0) return refuse(denial.status, denial.words, out);
  if (in_reserve_ && !asks_for_health(head.path)) {
    return refuse(503, "too many requests are in progress; try again later", out);
  }
  if (await_body(parsed.consumed, out)) return;
  const std::size_t size = parsed.consumed + static_cast<std::size_t>(head.content_length);
  serve(parsed.consumed);
  // After serve(), which reads views into the input. Later requests wait.
  input_.erase(0, size);
}

// True if the body is incomplete or was refused.
bool HttpSession::await_body(std::size_t head_bytes, base::Chain& out) {
  const wire::RequestHead& head = desk_.head;
  if (head.framing == wire::Framing::chunked) {
    refuse(411, "the request needs a Content-Length field", out);
    return true;
  }
  if (head.content_length > desk_.limits.body_bytes) {
    refuse(413, "the body is too large for any page", out);
    return true;
  }
  const bool first_look = awaited_ == 0;
  awaited_ = head_bytes + static_cast<std::size_t>(head.content_length);
  if (input_.size() >= awaited_) return false;
  if (head.expect_continue && first_look) out.append(desk_.reactor.blocks(), "HTTP/1.1 100 Continue\r\n\r\n");
  return true;
}

// Answers come through the mailbox, never from inside dispatch(): pipelined requests do not grow the stack.
void HttpSession::serve(std::size_t head_bytes) {
  const wire::RequestHead& head = desk_.head;
  state_ = State::working;
  exchange_ += 1;
  keep_alive_ = keep_alive_ && head.keep_alive;

  const std::size_t question = std::min(head.path.find('?'), head.path.size());
  const wire::Field* const accept = head.fields.find("accept");
  const std::string_view input = input_;
  const Request request{.method = head.method,
                        .path = head.path.substr(0, question),
                        .query = head.path.substr(std::min(question + 1, head.path.size())),
                        .accept = accept == nullptr ? std::string_view() : accept->value,
                        .body = input.substr(head_bytes, static_cast<std::size_t>(head.content_length)),
                        .peer = peer_};
  desk_.router.dispatch(request, respond());
}

Respond HttpSession::respond() {
  return [this, way_back = way_back_, exchange = exchange_](Answer given) {
    way_back.post([this, exchange, given = std::move(given)](base::Chain& out) {
      if (state_ == State::working && exchange_ == exchange) answer(given, out);
    });
  };
}

// Answers an invalid request; reads no further requests.
void HttpSession::refuse(int status, std::string_view words, base::Chain& out) {
  keep_alive_ = false;
  Answer refusal = plain_answer(status, words);
  if (status == 401) refusal.extra = "WWW-Authenticate: Bearer\r\n";
  answer(refusal, out);
}

void HttpSession::answer(const Answer& answer, base::Chain& out) {
  base::BlockPool& blocks = desk_.reactor.blocks();
  wire::ResponseHead& response = desk_.response;
  const std::string date = wire::http_date(desk_.reactor.clock().wall());
  response.status = static_cast<std::uint16_t>(answer.status);
  response.reason = wire::reason_phrase(answer.status);
  response.has_length = answer.status != 204;  // RFC 9110 8.6
  response.content_length = answer.body.size();
  response.fields.clear();
  response.fields.add({.name = "Date", .value = date});
  if (!answer.body.empty()) response.fields.add({.name = "Content-Type", .value = answer.content_type});
  response.fields.add({.name = "Cache-Control", .value = "no-store"});
  response.fields.add({.name = "X-Content-Type-Options", .value = "nosniff"});

  const wire::ResponsePlan plan{.client_minor = minor_, .keep_alive = keep_alive_, .extra = answer.extra};
  out.push(wire::write_response(blocks, response, plan));
  if (!head_only_ && !answer.body.empty()) out.push(blocks.copy(answer.body));
  state_ = State::answered;
}

}  // namespace ebb::admin
