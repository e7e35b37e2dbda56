#include "canary/h1_echo.h"

#include "wire/h1_write.h"

namespace ebb::canary {

namespace {

constexpr wire::HeadLimits head_limits{};
constexpr std::size_t websocket_key_size = 24;

// RFC 6455 section 4.2.1. An incomplete handshake gets the usual answer: a server need not upgrade.
void note_websocket(const wire::RequestHead& head, EchoRequest& request) {
  const wire::Field* const key = head.fields.find("sec-websocket-key");
  const wire::Field* const version = head.fields.find("sec-websocket-version");
  request.websocket = head.method == wire::Method::get && wire::list_has_token(head.upgrade, "websocket") &&
                      key != nullptr && key->value.size() == websocket_key_size && version != nullptr &&
                      version->value == "13";
  if (request.websocket) request.websocket_key = key->value;
}

}  // namespace

void H1Echo::take(base::Slice bytes, base::Instant, base::Chain& out) {
  if (state_ == State::over) return;
  if (state_ == State::websocket) return echo(bytes.view(), out);
  input_ += bytes.view();
  while (state_ == State::head || state_ == State::body) {
    if (state_ == State::head && !read_head(out)) return;
    if (!read_body(out)) return;
    answer(out);
  }
  if (state_ == State::websocket) echo(std::exchange(input_, {}), out);
}

void H1Echo::leave(base::Chain& out) {
  leaving_ = true;
  if (state_ == State::head && input_.empty() && answers_ > 0) state_ = State::over;
  if (state_ != State::websocket) return;
  std::string text;
  echo_.leave(text);
  out.append(desk_.blocks, text);
}

EchoProtocol::Waiting H1Echo::waiting() const {
  switch (state_) {
    case State::head: return input_.empty() ? Waiting::request : Waiting::rest_of_request;
    case State::body: return Waiting::rest_of_request;
    case State::websocket: return Waiting::tunnel;
    case State::over: return Waiting::nothing;
  }
  return Waiting::nothing;
}

bool H1Echo::read_head(base::Chain& out) {
  if (input_.empty()) return false;
  const wire::Parsed parsed = wire::parse_request(input_, head_limits, desk_.head);
  if (parsed.status == wire::Parsed::Status::incomplete) return false;
  if (parsed.status == wire::Parsed::Status::refused) {
    refuse(parsed.cause, out);
    return false;
  }
  const wire::RequestHead& head = desk_.head;
  request_ = echo_request(head);
  note_websocket(head, request_);
  body_ = wire::BodyReader(head.framing, head.content_length);
  if (head.expect_continue && input_.size() == parsed.consumed) {
    out.append(desk_.blocks, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  input_.erase(0, parsed.consumed);
  state_ = State::body;
  return true;
}

bool H1Echo::read_body(base::Chain& out) {
  std::string_view rest = input_;
  while (!body_.complete() && !rest.empty()) {
    const wire::BodyReader::Step step = body_.next(rest);
    if (step.status == wire::BodyReader::Step::Status::refused) {
      refuse(base::Cause::client_bad_request, out);
      return false;
    }
    rest.remove_prefix(step.consumed);
  }
  input_.erase(0, input_.size() - rest.size());
  return body_.complete();
}

void H1Echo::answer(base::Chain& out) {
  if (leaving_) request_.websocket = false;
  const bool keep_alive = request_.keep_alive && !leaving_;
  const wire::ResponseHead& head = desk_.answer(request_, port_);
  out.push(wire::write_response(desk_.blocks, head, {.client_minor = request_.minor, .keep_alive = keep_alive}));
  if (head.framing == wire::Framing::length) out.append(desk_.blocks, desk_.body());
  answers_ += 1;
  state_ = request_.websocket ? State::websocket : keep_alive ? State::head : State::over;
}

void H1Echo::refuse(base::Cause cause, base::Chain& out) {
  out.push(wire::write_response(desk_.blocks, desk_.refusal(cause), {.keep_alive = false}));
  state_ = State::over;
}

void H1Echo::echo(std::string_view bytes, base::Chain& out) {
  std::string text;
  echo_.take(bytes, text);
  out.append(desk_.blocks, text);
  if (echo_.over()) state_ = State::over;
}

}  // namespace ebb::canary
