// Reports the peer's input, as nghttp2 has read it, to the listener. Before: h2_callbacks. Next: gate/h2_clients.
#include <algorithm>

#include "wire/h2_heads.h"
#include "wire/h2_state.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Inbound = H2Stream::Inbound;
using Outbound = H2Stream::Outbound;

// A head is 10 KiB and lives during one call of the listener; the thread reads no other head meanwhile.
struct Scratch {
  RequestHead request;
  ResponseHead response;
  std::string cookies;
  std::string trailers;
};

Scratch& scratch() {
  thread_local Scratch of_this_thread;
  return of_this_thread;
}

bool ends_stream(const nghttp2_frame& frame) { return (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0; }

}  // namespace

void H2Session::State::frame_came(const nghttp2_frame& frame) {
  switch (frame.hd.type) {
    case NGHTTP2_HEADERS: return block_whole(frame);
    case NGHTTP2_DATA: return payload_whole(frame);
    case NGHTTP2_RST_STREAM: return reset_came(frame);
    case NGHTTP2_GOAWAY: return goaway_came(frame.goaway.last_stream_id);
    case NGHTTP2_SETTINGS: settings_came = settings_came || (frame.hd.flags & NGHTTP2_FLAG_ACK) == 0; return;
    case NGHTTP2_PING:
      if ((frame.hd.flags & NGHTTP2_FLAG_ACK) == 0 || pings_unanswered == 0) return;
      pings_unanswered -= 1;
      return listener.on_ping_answered();
    default: return;
  }
}

void H2Session::State::block_whole(const nghttp2_frame& frame) {
  if (frame.headers.cat == NGHTTP2_HCAT_REQUEST) return request_whole(frame.hd.stream_id, ends_stream(frame));
  H2Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr) return;
  if (stream->inbound == Inbound::head) return response_whole(*stream, ends_stream(frame));
  if (stream->inbound == Inbound::body) return trailers_whole(*stream);
}

void H2Session::State::request_whole(StreamId id, bool ends) {
  last_taken = id;
  Scratch& read = scratch();
  const Parsed verdict = read_request_block(block, limits.head, ends, read.cookies, read.request);
  H2Stream& stream = open_stream(id);
  if (verdict.status == Parsed::Status::refused) {
    stream.inbound = Inbound::discarded;
    listener.on_request_refused(id, verdict.cause, verdict.why);
    return spend(budget.take_fault(now));
  }
  stream.inbound = ends ? Inbound::told : Inbound::body;
  listener.on_request(id, read.request);
}

void H2Session::State::response_whole(H2Stream& stream, bool ends) {
  ResponseHead& head = scratch().response;
  const Parsed verdict = read_response_block(block, limits.head, stream.method, ends, head);
  const StreamId id = stream.id;
  if (verdict.status == Parsed::Status::refused) {
    nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, id, NGHTTP2_PROTOCOL_ERROR);
    return fail_stream(stream, verdict.cause, false);
  }
  if (!head.interim()) stream.inbound = head.framing == Framing::none ? Inbound::told : Inbound::body;
  listener.on_response(id, head);
}

void H2Session::State::trailers_whole(H2Stream& stream) {
  std::string& trailers = scratch().trailers;
  if (read_trailer_block(block, trailers) != nullptr) {
    nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, stream.id, NGHTTP2_PROTOCOL_ERROR);
    return fail_stream(stream, protocol_error(), false);
  }
  stream.inbound = Inbound::told;
  listener.on_whole(stream.id, trailers);
}

void H2Session::State::payload_came(StreamId id, const char* at, std::size_t size) {
  // nghttp2 hands out bytes beyond the window although it has reset the stream for them. (Before the peer acknowledges
  // our SETTINGS, the window is that of RFC 9113 6.9.2.)
  const std::size_t window = std::max<std::size_t>(limits.stream_window, NGHTTP2_INITIAL_WINDOW_SIZE);
  H2Stream* stream = find(id);
  if (stream == nullptr || stream->inbound != Inbound::body || stream->unread + size > window) {
    nghttp2_session_consume(session.get(), id, size);  // unread bytes must not block the other streams
    return;
  }
  EBB_ASSERT(at >= received->data() && at + size <= received->data() + received->size());
  stream->unread += size;
  listener.on_payload(
      id, received->part(static_cast<std::uint32_t>(at - received->data()), static_cast<std::uint32_t>(size)));
}

void H2Session::State::payload_whole(const nghttp2_frame& frame) {
  const bool padding_only = frame.data.padlen > 0 && frame.hd.length == frame.data.padlen;
  if (padding_only && !ends_stream(frame)) spend(budget.take_empty_payload(now));
  if (!ends_stream(frame) || !is_open()) return;
  H2Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr || stream->inbound != Inbound::body) return;
  stream->inbound = Inbound::told;
  listener.on_whole(frame.hd.stream_id, {});
}

void H2Session::State::reset_came(const nghttp2_frame& frame) {
  H2Stream* stream = find(frame.hd.stream_id);
  if (stream == nullptr) return;
  const std::uint32_t code = frame.rst_stream.error_code;
  if (role == Role::server) return fail_stream(*stream, Cause::client_cancelled, false);
  // A peer that has begun its answer has acted on the request.
  if (code == NGHTTP2_REFUSED_STREAM && stream->inbound == Inbound::head) {
    return fail_stream(*stream, Cause::backend_refused_stream, true);
  }
  // RFC 9113 8.1: after a complete response this only means that the peer does not need the rest of the request.
  const bool answered = code == NGHTTP2_NO_ERROR && stream->inbound == Inbound::told;
  fail_stream(*stream, answered ? Cause::completed : Cause::backend_stream_reset, false);
}

void H2Session::State::goaway_came(StreamId last) {
  std::vector<StreamId> unseen;
  for (const auto& [id, stream] : streams) {
    if (role == Role::client && id > last) unseen.push_back(id);
  }
  std::ranges::sort(unseen);
  const bool first = !peer_going_away;
  peer_going_away = true;  // before the listener looks for other connections for them
  for (const StreamId id : unseen) {
    if (H2Stream* stream = find(id); stream != nullptr) fail_stream(*stream, Cause::backend_going_away, true);
  }
  if (first) listener.on_going_away();
}

void H2Session::State::stream_closed(StreamId id, std::uint32_t code) {
  H2Stream* stream = find(id);
  if (stream == nullptr) return;
  if (code == NGHTTP2_NO_ERROR) return drop(*stream);
  // Neither the peer's RST_STREAM (reset_came) nor ours (reset_stream): nghttp2 found a fault of the peer.
  fail_stream(*stream, protocol_error(), false);
  spend(budget.take_fault(now));
}

}  // namespace ebb::wire
