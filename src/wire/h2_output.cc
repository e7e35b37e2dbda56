// Output to the peer: frames that nghttp2 writes are copied (they are small), payload is moved from the streams.
// Before: h2_session. Next: wire/tls or the reactor.
#include <algorithm>
#include <span>

#include "wire/h2_fields.h"
#include "wire/h2_state.h"

namespace ebb::wire {
namespace {

using Inbound = H2Stream::Inbound;
using Outbound = H2Stream::Outbound;

// Copying this many bytes is cheaper than one more element of a gathered write.
constexpr std::uint32_t copy_max = 2048;
constexpr std::size_t control_bytes_max = std::size_t{64} << 10;
constexpr std::size_t control_bytes_kept = 1024;

// Memory of a head inside nghttp2: its frame, the pairs, and a copy of their texts, each with a zero.
std::size_t memory_of(std::span<const nghttp2_nv> pairs) {
  std::size_t bytes = sizeof(nghttp2_frame) + pairs.size_bytes();
  for (const nghttp2_nv& pair : pairs) bytes += pair.namelen + pair.valuelen + 2;
  return bytes;
}

void mark_held_back(base::List<H2Stream>& waiting) {
  for (H2Stream* stream = waiting.front(); stream != nullptr; stream = waiting.next(*stream)) stream->held_back = true;
}

void move_payload(base::BlockPool& pool, base::Chain& from, base::Chain& to, std::size_t size) {
  while (size > 0) {
    const base::Slice& front = from.front();
    const std::uint32_t count = static_cast<std::uint32_t>(std::min<std::size_t>(front.size(), size));
    size -= count;
    if (count <= copy_max) {
      to.append(pool, front.view().substr(0, count));
      from.drop_front(count);
    } else if (count == front.size()) {
      to.push(from.pop_front());
    } else {
      to.push(front.part(0, count));
      from.drop_front(count);
    }
  }
}

}  // namespace

// nghttp2 reports a connection error only by writing a GOAWAY. Write queued control frames at the end of receive(), so
// that the caller learns of the error at once. Payload waits for collect().
void H2Session::State::take_control_frames() {
  while (nghttp2_session_get_outbound_queue_size(session.get()) > requests_unsent &&
         control_frames.size() < control_bytes_max) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session.get(), &bytes);
    if (size < 0) fail(base::Cause::internal, nghttp2_strerror(static_cast<int>(size)), NGHTTP2_INTERNAL_ERROR);
    if (size <= 0) return;
    control_frames.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
}

void H2Session::collect(base::BlockPool& pool, base::Chain& out, std::size_t room, base::Instant now) {
  State& state = *state_;
  // nghttp2 must not write from inside one of its callbacks: it still uses a stream that this would close.
  if (state.received != nullptr) return mark_held_back(state.waiting);
  out.append(pool, state.control_frames);
  if (state.control_frames.capacity() > control_bytes_kept) state.control_frames = {};
  state.control_frames.clear();

  state.output = {.pool = &pool, .chain = &out, .room = room, .now = now};
  while (out.bytes() < room && nghttp2_session_want_write(state.session.get()) != 0) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t size = nghttp2_session_mem_send(state.session.get(), &bytes);
    if (size < 0) state.fail(base::Cause::internal, nghttp2_strerror(static_cast<int>(size)), NGHTTP2_INTERNAL_ERROR);
    if (size <= 0) break;
    out.append(pool, {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size)});
  }
  state.output = {};
  state.note_held_back();
}

void H2Session::postpone() { state_->note_held_back(); }

bool H2Session::has_output() const {
  return !state_->control_frames.empty() || nghttp2_session_want_write(state_->session.get()) != 0;
}

// Marks waiting streams, then reports those that have drained.
void H2Session::State::note_held_back() {
  mark_held_back(waiting);
  if (drained.empty()) return;
  const std::vector<StreamId> told = std::exchange(drained, {});
  for (const StreamId id : told) {
    H2Stream* stream = find(id);
    if (is_open() && stream != nullptr && stream->inbound != Inbound::discarded) listener.on_stream_drained(id);
  }
}

// Decides how much nghttp2 may put into the next DATA frame. Copies nothing: take_payload() follows.
ssize_t H2Session::State::offer_payload(StreamId id, std::size_t size_max, std::uint32_t& flags) {
  H2Stream* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  const std::size_t size = std::min(size_max, stream->payload.bytes());
  const bool last = stream->outbound == Outbound::finishing && size == stream->payload.bytes();
  if (size == 0 && !last) {
    stream->deferred = true;
    return NGHTTP2_ERR_DEFERRED;
  }
  flags |= NGHTTP2_DATA_FLAG_NO_COPY;
  if (!last) return static_cast<ssize_t>(size);
  flags |= NGHTTP2_DATA_FLAG_EOF;
  if (!stream->trailers.empty()) {
    flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    H2Fields& fields = H2Fields::of_this_thread();
    fields.set_trailers(stream->trailers);
    const int submitted = nghttp2_submit_trailer(session.get(), id, fields.data(), fields.size());
    if (submitted == 0) head_submitted(fields.data(), fields.size());
  }
  return static_cast<ssize_t>(size);
}

int H2Session::State::take_payload(StreamId id, std::string_view frame_header, std::size_t size) {
  if (output.chain == nullptr) return NGHTTP2_ERR_WOULDBLOCK;  // not in collect()
  H2Stream* stream = find(id);
  if (stream == nullptr) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  output.chain->append(*output.pool, frame_header);
  move_payload(*output.pool, stream->payload, *output.chain, size);
  stream->moved = output.now;
  budget.data_sent();
  if (stream->payload.empty()) {
    stream->unlink();
    if (std::exchange(stream->held_back, false)) drained.push_back(id);
  }
  return output.chain->bytes() >= output.room ? NGHTTP2_ERR_PAUSE : 0;
}

void H2Session::State::head_submitted(const nghttp2_nv* pairs, std::size_t count) {
  heads_held += memory_of({pairs, count});
}

// The head's frame has left, or never will.
void H2Session::State::head_gone(const nghttp2_headers& head) {
  heads_held -= std::min(heads_held, memory_of({head.nva, head.nvlen}));
}

void H2Session::State::frame_left(const nghttp2_frame& frame) {
  if (frame.hd.type == NGHTTP2_HEADERS) head_gone(frame.headers);
  const bool opens = frame.hd.type == NGHTTP2_HEADERS && frame.headers.cat == NGHTTP2_HCAT_REQUEST;
  if (opens) requests_unsent -= 1;
  const bool has_end = frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA;
  if (has_end && (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
    H2Stream* stream = find(frame.hd.stream_id);
    if (stream == nullptr) return;
    stream->outbound = Outbound::ended;
    if (stream->inbound != Inbound::discarded) return;
    // RFC 9113 8.1: the answer ended before the request; the rest of the request is not wanted.
    const bool peer_goes_on = nghttp2_session_get_stream_remote_close(session.get(), stream->id) == 0;
    if (peer_goes_on) reset_stream(*stream, NGHTTP2_NO_ERROR);
  }
  if (frame.hd.type == NGHTTP2_GOAWAY && frame.goaway.error_code != NGHTTP2_NO_ERROR && is_open()) {
    status = Status::failed;
    cause = protocol_error();
    why.assign(reinterpret_cast<const char*>(frame.goaway.opaque_data), frame.goaway.opaque_data_len);
    if (why.empty()) why = nghttp2_http2_strerror(frame.goaway.error_code);
  }
}

void H2Session::State::request_not_sent(StreamId id) {
  requests_unsent -= 1;
  if (H2Stream* stream = find(id); stream != nullptr) fail_stream(*stream, base::Cause::backend_going_away, true);
}

void H2Session::State::wake(H2Stream& stream) {
  if (!std::exchange(stream.deferred, false)) return;
  nghttp2_session_resume_data(session.get(), stream.id);
}

}  // namespace ebb::wire
