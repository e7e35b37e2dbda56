// The interface for the gate. Next: h2_callbacks and h2_events (from receive), h2_output (from collect).
#include <algorithm>

#include "wire/h2_fields.h"
#include "wire/h2_state.h"

namespace ebb::wire {
namespace {

using base::Cause;
using Inbound = H2Stream::Inbound;
using Outbound = H2Stream::Outbound;

// For requests to a peer that does not read. Includes the heads of streams that were reset meanwhile.
constexpr std::size_t request_heads_max = std::size_t{1} << 20;

std::uint32_t code_of(Cause cause, bool unprocessed) {
  if (unprocessed) return NGHTTP2_REFUSED_STREAM;
  if (cause == Cause::completed) return NGHTTP2_NO_ERROR;
  if (cause == Cause::cancelled || base::name(cause).starts_with("client_")) return NGHTTP2_CANCEL;
  return NGHTTP2_INTERNAL_ERROR;
}

}  // namespace

void* H2Stream::operator new(std::size_t bytes) {
  void* memory = FreePieces::of_this_thread().take(bytes);
  EBB_ASSERT(memory != nullptr);
  return memory;
}

H2Session::State::State(Role role_of_us, const H2Limits& limits_given, H2Listener& listener_given)
    : role(role_of_us),
      limits(limits_given),
      listener(listener_given),
      budget(limits.head.head_bytes),
      scan(role == Role::server ? NGHTTP2_CLIENT_MAGIC_LEN : 0),
      block(limits.head.head_bytes),
      session(make_session()) {}

void H2Session::State::fail(Cause because, const char* words, std::uint32_t code) {
  if (!is_open()) return;
  status = Status::failed;
  cause = because;
  why = words;
  nghttp2_session_terminate_session2(session.get(), last_taken, code);  // not nghttp2's own count: go_away()
}

void H2Session::State::fail_flood(const char* words) {
  fail(role == Role::server ? Cause::client_flood : Cause::backend_protocol_error, words, NGHTTP2_ENHANCE_YOUR_CALM);
}

void H2Session::State::spend(const char* overspent) {
  if (overspent != nullptr) fail_flood(overspent);
}

Cause H2Session::State::protocol_error() const {
  return role == Role::server ? Cause::client_protocol_error : Cause::backend_protocol_error;
}

H2Stream* H2Session::State::find(StreamId id) {
  const auto at = streams.find(id);
  return at == streams.end() ? nullptr : at->second.get();
}

H2Stream& H2Session::State::open_stream(StreamId id) {
  const auto [at, opened] = streams.emplace(id, std::make_unique<H2Stream>());
  EBB_ASSERT(opened);
  at->second->id = id;
  return *at->second;
}

void H2Session::State::drop(H2Stream& stream) {
  if (stream.unread > 0) nghttp2_session_consume_connection(session.get(), stream.unread);
  streams.erase(stream.id);
}

void H2Session::State::discard_rest(H2Stream& stream) {
  stream.inbound = Inbound::discarded;
  nghttp2_session_consume(session.get(), stream.id, std::exchange(stream.unread, 0));
}

void H2Session::State::reset_stream(H2Stream& stream, std::uint32_t code) {
  nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, stream.id, code);
  drop(stream);
}

void H2Session::State::fail_stream(H2Stream& stream, Cause because, bool unprocessed) {
  const StreamId id = stream.id;
  const bool told = is_open() && !stream.over() && stream.inbound != Inbound::discarded;
  drop(stream);
  if (told) listener.on_stream_failed(id, because, unprocessed);
}

// Checks the headers of the frames: a flood shows there before it costs any work.
H2Session::State::Admission H2Session::State::admit(std::string_view bytes) {
  std::string_view rest = bytes;
  FrameHeader header;
  while (!rest.empty()) {
    if (!scan.next(rest, header)) continue;
    Admission admission{.size = bytes.size() - rest.size() - 1, .overspent = budget.take(header, now)};
    if (admission.overspent == nullptr) find_broken_rule(header, admission);
    if (admission.overspent != nullptr || admission.broken != nullptr) return admission;
  }
  return {.size = bytes.size()};
}

// The rules that nghttp2 does not check.
void H2Session::State::find_broken_rule(const FrameHeader& header, Admission& admission) {
  if (header.is_broken_priority()) {
    admission.broken = "malformed PRIORITY frame";
    admission.code = NGHTTP2_PROTOCOL_ERROR;
  }
  if (role == Role::client) return;
  switch (history.take(header)) {
    case H2History::Fate::possible: return;
    case H2History::Fate::ended:
      admission.broken = "frame on a stream that the client had ended";
      admission.code = NGHTTP2_STREAM_CLOSED;
      return;
    case H2History::Fate::passed_over:
      admission.broken = "stream with a lower id than one before it";
      admission.code = NGHTTP2_PROTOCOL_ERROR;
      return;
  }
}

void H2Session::State::feed(const base::Slice& bytes) {
  received = &bytes;
  const ssize_t taken =
      nghttp2_session_mem_recv(session.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  received = nullptr;
  if (taken >= 0) return;
  const int error = static_cast<int>(taken);
  if (error == NGHTTP2_ERR_FLOODED || error == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS) {
    return fail_flood(nghttp2_strerror(error));
  }
  fail(protocol_error(), nghttp2_strerror(error), NGHTTP2_PROTOCOL_ERROR);
}

H2Session::H2Session(Role role, const H2Limits& limits, H2Listener& listener)
    : state_(std::make_unique<State>(role, limits, listener)) {}
H2Session::~H2Session() = default;

H2Session::Status H2Session::receive(const base::Slice& bytes, base::Instant now) {
  State& state = *state_;
  if (!state.is_open() || bytes.empty()) return state.status;
  state.now = now;
  const State::Admission admission = state.admit(bytes.view());
  state.feed(bytes.part(0, static_cast<std::uint32_t>(admission.size)));
  state.spend(admission.overspent);
  if (admission.broken != nullptr) state.fail(state.protocol_error(), admission.broken, admission.code);
  state.take_control_frames();
  return state.status;
}

Cause H2Session::cause() const { return state_->cause; }
const char* H2Session::why() const { return state_->why.c_str(); }

void H2Session::charge_fault() { state_->spend(state_->budget.take_fault(state_->now)); }

void H2Session::respond(StreamId id, const ResponseHead& head, bool whole) {
  State& state = *state_;
  H2Stream* stream = state.find(id);
  if (stream == nullptr || stream->outbound != Outbound::head) return;
  H2Fields& fields = H2Fields::of_this_thread();
  fields.set_response(head);
  if (head.interim()) {
    const int submitted = nghttp2_submit_headers(state.session.get(), NGHTTP2_FLAG_NONE, id, nullptr, fields.data(),
                                                 fields.size(), nullptr);
    if (submitted == 0) state.head_submitted(fields.data(), fields.size());
    return;
  }
  stream->outbound = whole ? Outbound::finishing : Outbound::open;
  const nghttp2_data_provider payload = state.payload_provider();
  const int submitted =
      nghttp2_submit_response(state.session.get(), id, fields.data(), fields.size(), whole ? nullptr : &payload);
  if (submitted == 0) state.head_submitted(fields.data(), fields.size());
}

StreamId H2Session::request(const RequestHead& head, std::string_view scheme, bool whole) {
  if (!may_open()) return 0;
  H2Fields& fields = H2Fields::of_this_thread();
  fields.set_request(head, scheme);
  return submit_request(fields, head.upgrade.empty() ? head.method : Method::connect, whole);
}

StreamId H2Session::request(const WrittenRequest& head, Method method, std::string_view scheme, bool tunnel,
                            bool whole) {
  if (!may_open() || head.authority().empty() || head.lines() > fields_max) return 0;
  H2Fields& fields = H2Fields::of_this_thread();
  fields.set_request(head, scheme, tunnel);
  return submit_request(fields, tunnel ? Method::connect : method, whole);
}

StreamId H2Session::submit_request(const H2Fields& fields, Method method, bool whole) {
  State& state = *state_;
  const nghttp2_data_provider payload = state.payload_provider();
  const StreamId id = nghttp2_submit_request(state.session.get(), nullptr, fields.data(), fields.size(),
                                             whole ? nullptr : &payload, nullptr);
  if (id <= 0) return 0;
  state.requests_unsent += 1;
  state.head_submitted(fields.data(), fields.size());
  state.budget.stream_opened();
  H2Stream& stream = state.open_stream(id);
  stream.inbound = Inbound::head;
  stream.outbound = whole ? Outbound::finishing : Outbound::open;
  stream.method = method;
  return id;
}

bool H2Session::may_open() const {
  const State& state = *state_;
  if (state.role == Role::server || !state.is_open() || state.peer_going_away || state.we_go_away) return false;
  if (state.heads_held > request_heads_max) return false;
  return nghttp2_session_check_request_allowed(state.session.get()) != 0 &&
         state.streams.size() <
             nghttp2_session_get_remote_settings(state.session.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
}

bool H2Session::peer_takes_extended_connect() const {
  return nghttp2_session_get_remote_settings(state_->session.get(), NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL) == 1;
}

bool H2Session::settings_received() const { return state_->settings_came; }

bool H2Session::send(StreamId id, base::Chain&& payload) {
  base::Chain taken = std::move(payload);  // also if it is not wanted
  H2Stream* stream = state_->find(id);
  if (stream == nullptr || stream->outbound != Outbound::open || taken.empty()) return false;
  const bool first = stream->payload.empty();
  stream->payload.join(std::move(taken));
  if (!stream->linked()) state_->waiting.push_back(*stream);
  state_->wake(*stream);
  return first;
}

void H2Session::finish(StreamId id, std::string_view trailers) {
  H2Stream* stream = state_->find(id);
  if (stream == nullptr || stream->outbound != Outbound::open) return;
  stream->outbound = Outbound::finishing;
  stream->trailers = trailers;
  state_->wake(*stream);
}

std::size_t H2Session::unsent(StreamId id) const {
  const H2Stream* stream = state_->find(id);
  return stream == nullptr ? 0 : stream->payload.bytes();
}

std::size_t H2Session::held(StreamId id) const {
  const H2Stream* stream = state_->find(id);
  return stream == nullptr ? 0 : stream->payload.held();
}

std::size_t H2Session::held() const {
  std::size_t bytes = 0;
  for (const auto& [id, stream] : state_->streams) bytes += stream->payload.held();
  return bytes;
}

std::size_t H2Session::heads_held() const { return state_->heads_held; }
std::size_t H2Session::control_held() const {
  return state_->control_frames.empty() ? 0 : state_->control_frames.capacity();
}

base::Backlog H2Session::backlog(StreamId id) const {
  const H2Stream* stream = state_->find(id);
  return stream == nullptr ? base::Backlog{} : base::Backlog{stream->payload.bytes(), stream->moved};
}

void H2Session::reset(StreamId id, Cause cause, bool unprocessed) {
  H2Stream* stream = state_->find(id);
  if (stream == nullptr) return;
  const std::uint32_t code = code_of(cause, unprocessed);
  // RST_STREAM would overtake the waiting payload.
  if (code == NGHTTP2_NO_ERROR && stream->outbound == Outbound::finishing) return state_->discard_rest(*stream);
  state_->reset_stream(*stream, code);
  if (unprocessed) state_->spend(state_->budget.take_fault(state_->now));
}

void H2Session::consumed(StreamId id, std::size_t bytes) {
  H2Stream* stream = state_->find(id);
  if (stream == nullptr) return;  // its bytes were given back when it ended
  bytes = std::min(bytes, stream->unread);
  stream->unread -= bytes;
  nghttp2_session_consume(state_->session.get(), id, bytes);
}

std::size_t H2Session::streams() const { return state_->streams.size(); }

void H2Session::ping() {
  state_->pings_unanswered += 1;
  nghttp2_submit_ping(state_->session.get(), NGHTTP2_FLAG_NONE, nullptr);
}

void H2Session::go_away(Cause cause) {
  State& state = *state_;
  const bool warned = std::exchange(state.we_go_away, true);
  if (state.role == Role::server && !warned) {
    nghttp2_submit_shutdown_notice(state.session.get());
    return;
  }
  // Sends the cause's name, for debugging at the other side.
  const std::string_view name = base::name(cause);
  // nghttp2 counts a stream as processed from the first bytes of its head on. Of such a one nothing was done, and
  // nothing will be: its client may ask again (RFC 9113 6.8).
  nghttp2_submit_goaway(state.session.get(), NGHTTP2_FLAG_NONE, state.last_taken, NGHTTP2_NO_ERROR,
                        reinterpret_cast<const std::uint8_t*>(name.data()), name.size());
}

}  // namespace ebb::wire
