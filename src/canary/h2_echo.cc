#include "canary/h2_echo.h"

namespace ebb::canary {

namespace {

constexpr std::size_t room = std::size_t{64} << 10;  // of output at a time

}  // namespace

void H2Echo::take(base::Slice bytes, base::Instant now, base::Chain& out) {
  failed_ = codec_.receive(bytes, now) == wire::H2Session::Status::failed;
  refill(out);
}

void H2Echo::refill(base::Chain& out) {
  codec_.collect(desk_.blocks, out, room);
  // A window opens again once the echo has left: a client that does not read is not read from either.
  for (auto& [id, stream] : streams_) {
    if (stream.echoed > 0 && codec_.unsent(id) == 0) codec_.consumed(id, std::exchange(stream.echoed, 0));
  }
  if (out.bytes() < room && codec_.has_output()) codec_.collect(desk_.blocks, out, room - out.bytes());
}

// The PING follows the warning. Its answer proves that all streams that the client opened before the warning have
// arrived, so GOAWAY can name the last stream (RFC 9113 6.8).
void H2Echo::leave(base::Chain& out) {
  if (std::exchange(leaving_, true)) return;
  codec_.go_away(base::Cause::shutdown);
  codec_.ping();
  for (auto& [id, stream] : streams_) {
    if (!stream.request.websocket) continue;
    std::string text;
    stream.echo.leave(text);
    send(id, text);
  }
  refill(out);
}

EchoProtocol::Waiting H2Echo::waiting() const {
  const std::size_t open = codec_.streams();
  if (failed_ || (open == 0 && (last_named_ || client_leaves_))) return Waiting::nothing;
  if (open > tunnels_) return Waiting::rest_of_request;
  return tunnels_ > 0 ? Waiting::tunnel : Waiting::request;
}

void H2Echo::on_request(wire::StreamId id, const wire::RequestHead& head) {
  EchoRequest request = echo_request(head);
  request.websocket = head.upgrade == "websocket";
  if (!head.upgrade.empty() && !request.websocket) return refuse(id, base::Cause::client_coding_refused);
  if (!request.websocket && head.framing == wire::Framing::none) return answer(id, request);
  Stream& stream = streams_.emplace(id, Stream{.request = std::move(request)}).first->second;
  if (!stream.request.websocket) return;
  tunnels_ += 1;
  answer(id, stream.request);
}

void H2Echo::on_request_refused(wire::StreamId id, base::Cause cause, const char*) { refuse(id, cause); }

void H2Echo::on_payload(wire::StreamId id, base::Slice bytes) {
  const auto found = streams_.find(id);
  if (found == streams_.end() || !found->second.request.websocket) return codec_.consumed(id, bytes.size());
  Stream& stream = found->second;
  std::string text;
  stream.echo.take(bytes.view(), text);
  send(id, text);
  stream.echoed += bytes.size();
  if (!stream.echo.over()) return;
  codec_.consumed(id, stream.echoed);
  codec_.finish(id, {});
  forget(id);
}

void H2Echo::on_whole(wire::StreamId id, std::string_view) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (found->second.request.websocket) {
    codec_.finish(id, {});
  } else {
    answer(id, found->second.request);
  }
  forget(id);
}

void H2Echo::on_stream_failed(wire::StreamId id, base::Cause, bool) { forget(id); }

void H2Echo::on_ping_answered() {
  if (leaving_ && !std::exchange(last_named_, true)) codec_.go_away(base::Cause::shutdown);
}

void H2Echo::answer(wire::StreamId id, const EchoRequest& request) {
  answers_ += 1;
  codec_.respond(id, desk_.answer(request, port_), request.head_only);
  if (request.head_only || request.websocket) return;
  send(id, desk_.body());
  codec_.finish(id, {});
}

void H2Echo::refuse(wire::StreamId id, base::Cause cause) {
  codec_.respond(id, desk_.refusal(cause), true);
  codec_.reset(id, base::Cause::completed);  // after the answer
}

void H2Echo::send(wire::StreamId id, std::string_view bytes) {
  if (bytes.empty()) return;
  base::Chain payload;
  payload.push(desk_.blocks.copy(bytes));
  codec_.send(id, std::move(payload));
}

void H2Echo::forget(wire::StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (found->second.request.websocket) tunnels_ -= 1;
  streams_.erase(found);
}

}  // namespace ebb::canary
