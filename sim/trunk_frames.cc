// What the router's frames mean, and whether it may send them; see trunk.h.
#include <charconv>

#include "sim/trunk.h"

namespace ebb::sim {

namespace {

std::string value_of(const HeadFields& fields, std::string_view name) {
  for (const auto& [key, value] : fields)
    if (key == name) return value;
  return {};
}

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// RFC 9113 8.2: fields of a connection have no place in HTTP/2, and names are in lower case.
bool misplaced(const HeadFields& fields) {
  for (const auto& [name, value] : fields) {
    for (const char c : name)
      if (c >= 'A' && c <= 'Z') return true;
    if (name == "connection" || name == "transfer-encoding" || name == "upgrade" || name == "keep-alive") return true;
  }
  return false;
}

void append_fields(std::string& text, const HeadFields& fields) {
  for (const auto& [name, value] : fields)
    if (!name.starts_with(':') && name != "content-length") text.append(name).append(": ").append(value).append("\r\n");
  text += "\r\n";
}

std::string chunk_of(std::string_view bytes) {
  std::string text = chunked(bytes, bytes.size());
  text.resize(text.size() - std::string_view("0\r\n\r\n").size());
  return text;
}

}  // namespace

void Trunk::take(const Frame& frame) {
  if (block_stream_ != 0 && frame.type != FrameType::continuation) return wrong("a frame within a head");
  if (role_ == Role::client || preface_seen_) {
    if (!std::exchange(settings_seen_, true) && frame.type != FrameType::settings)
      return wrong("it does not begin with settings");
  }
  switch (frame.type) {
    case FrameType::data: return take_data(frame);
    case FrameType::headers:
    case FrameType::continuation: return take_head(frame);
    case FrameType::settings: return take_settings(frame);
    case FrameType::goaway: return take_goaway(frame);
    case FrameType::rst_stream: return take_reset(frame);
    case FrameType::window_update: return open_window(frame);
    case FrameType::push_promise: return wrong("a push");
    case FrameType::ping:
      if (frame.payload.size() != 8) return wrong("a PING of another size");
      if (!frame.has(ack)) put(FrameType::ping, ack, 0, frame.payload);
      return soon();
    case FrameType::priority:
    case FrameType::unknown: return;
  }
}

void Trunk::take_settings(const Frame& frame) {
  if (frame.has(ack)) {
    settings_acknowledged_ = true;
    return;
  }
  for (std::size_t at = 0; at + 6 <= frame.payload.size(); at += 6) {
    const auto setting = static_cast<Setting>(number_at(frame.payload, at) >> 16);
    const std::uint32_t value = number_at(frame.payload, at + 2);
    if (setting == Setting::streams_max) streams_max_ = value;
    if (setting == Setting::connect_protocol) router_takes_connect_ = value == 1;
    if (setting != Setting::window) continue;
    const std::int64_t more = std::int64_t{value} - std::exchange(initial_window_, std::int64_t{value});
    for (const auto& [id, stream] : streams_) stream->send_window += more;
  }
  put(FrameType::settings, ack, 0, {});
  soon();
}

void Trunk::open_window(const Frame& frame) {
  if (frame.payload.size() != 4) return wrong("a WINDOW_UPDATE of another size");
  const std::uint32_t more = number_at(frame.payload, 0) & 0x7fffffff;
  if (more == 0) return wrong("a WINDOW_UPDATE by nothing");
  if (frame.stream == 0) send_window_ += more;
  if (const auto found = streams_.find(frame.stream); found != streams_.end()) found->second->send_window += more;
  soon();
}

void Trunk::take_goaway(const Frame& frame) {
  if (frame.payload.size() < 8) return wrong("a GOAWAY that is too short");
  const std::uint32_t last = number_at(frame.payload, 0) & 0x7fffffff;
  const std::uint32_t error = number_at(frame.payload, 4);
  world_.note("goaway", last, error);
  going_away_ = true;
  if (role_ == Role::endpoint) return;
  if (last > goaway_id_) return wrong("a GOAWAY that takes back another");
  goaway_id_ = last;
  std::vector<std::shared_ptr<Stream>> beyond;
  for (const auto& [id, stream] : streams_)
    if (id > last) beyond.push_back(stream);
  for (const auto& stream : beyond) {
    fail_stream(*stream, ECONNRESET, true);
    forget(stream->id);
  }
  for (const auto& stream : std::exchange(unborn_, {})) fail_stream(*stream, ECONNRESET, true);
}

void Trunk::take_reset(const Frame& frame) {
  if (frame.payload.size() != 4) return wrong("a RST_STREAM of another size");
  const auto error = static_cast<H2Error>(number_at(frame.payload, 0));
  world_.note("stream was reset", frame.stream, static_cast<std::uint64_t>(error));
  running_.erase(frame.stream);
  const auto found = streams_.find(frame.stream);
  if (found == streams_.end()) {
    if (frame.stream == 0 || frame.stream > std::max(last_id_, next_id_)) wrong("a RST_STREAM of an idle stream");
    return;
  }
  const auto stream = found->second;
  // Behind a whole answer it only says that the rest of the request is not wanted (RFC 9113 8.1).
  fail_stream(*stream, ECONNRESET, error == H2Error::refused_stream);
  forget(frame.stream);
}

void Trunk::take_head(const Frame& frame) {
  if (frame.type == FrameType::continuation && frame.stream != block_stream_) return wrong("a stray CONTINUATION");
  if (frame.type == FrameType::headers) {
    const auto content = content_of(frame);
    if (!content) return wrong("a head with wrong padding");
    block_ = *content;
    block_stream_ = frame.stream;
    block_flags_ = frame.flags;
  } else {
    block_ += frame.payload;
  }
  if (!frame.has(end_headers)) return;
  const std::uint32_t id = std::exchange(block_stream_, 0);
  const bool whole = (block_flags_ & end_stream) != 0;
  const std::optional<HeadFields> fields = unpacker_.unpack(std::exchange(block_, {}));
  if (!fields) return wrong("a head that cannot be unpacked");
  if (misplaced(*fields)) return wrong("a field that has no place in HTTP/2");
  const auto found = streams_.find(id);
  if (found == streams_.end()) {
    if (role_ == Role::endpoint && id > last_id_) return take_request(id, *fields, whole);
    if (id == 0 || (role_ == Role::client && id >= next_id_)) wrong("a head on an idle stream");
    return;  // of one that we have reset
  }
  const auto stream = found->second;
  if (stream->whole) return wrong("a head behind the end");
  if (role_ == Role::client && !stream->head_seen) return take_response(*stream, *fields, whole);
  if (!whole) return wrong("trailers that do not end the stream");
  end_of_input(*stream);
}

void Trunk::take_request(std::uint32_t id, const HeadFields& fields, bool whole) {
  if (id % 2 == 0) return wrong("a stream with an even number");
  last_id_ = id;
  if (said_goaway_ && id > goaway_id_) {  // it knows that we do not look at it
    if (told_.refused) told_.refused(number_in(value_of(fields, "x-sim-id")));
    return;
  }
  running_.insert(id);
  count_ += 1;
  if (settings_acknowledged_ && running_.size() > manners_.streams_max) return wrong("more streams than it may have");
  const std::string path = value_of(fields, ":path");
  if (rng_.chance(manners_.refuses) && path != "/healthz") {
    if (told_.refused) told_.refused(number_in(value_of(fields, "x-sim-id")));
    world_.note("refuse stream", id);
    running_.erase(id);
    put(FrameType::rst_stream, 0, id, number_text(static_cast<std::uint32_t>(H2Error::refused_stream)));
    return soon();
  }
  auto stream = std::make_shared<Stream>();
  stream->id = id;
  stream->method = value_of(fields, ":method");
  stream->send_window = initial_window_;
  stream->receive_window = manners_.window;
  stream->head_seen = true;
  const bool tunnel = stream->method == "CONNECT" && !value_of(fields, ":protocol").empty();
  std::string text =
      (tunnel ? "GET" : stream->method) + " " + path + " HTTP/1.1\r\nHost: " + value_of(fields, ":authority") + "\r\n";
  if (tunnel) text += "Connection: Upgrade\r\nUpgrade: " + value_of(fields, ":protocol") + "\r\n";
  stream->raw = tunnel;
  stream->chunks = !tunnel && !whole;
  if (stream->chunks) text += "Transfer-Encoding: chunked\r\n";
  if (const std::string length = value_of(fields, "content-length"); !length.empty())
    stream->expected = number_in(length);
  append_fields(text, fields);
  stream->in.push(text);
  streams_.emplace(id, stream);
  if (whole) end_of_input(*stream);
  told_.stream(std::make_unique<StreamLine>(shared_from_this(), stream));
  if (manners_.goes_after != 0 && count_ >= manners_.goes_after) go_away();
}

void Trunk::take_response(Stream& stream, const HeadFields& fields, bool whole) {
  const std::string status = value_of(fields, ":status");
  const bool interim = status.starts_with('1');
  if (interim && whole) return wrong("an interim head that ends its stream");
  const bool tunnel = stream.raw && status == "200";
  std::string text = "HTTP/1.1 " + (tunnel ? "101" : status) + " Of HTTP/2\r\n";
  append_fields(text, fields);
  stream.in.push(text);
  if (!interim) {
    stream.head_seen = true;
    stream.raw = tunnel;
    stream.bodiless = stream.method == "HEAD" || status == "204" || status == "304";
    const std::string length = value_of(fields, "content-length");
    if (!length.empty() && !stream.bodiless) stream.expected = number_in(length);
  }
  if (whole) end_of_input(stream);
  if (stream.changed) stream.changed();
}

void Trunk::take_data(const Frame& frame) {
  const auto size = static_cast<std::int64_t>(frame.payload.size());
  receive_window_ -= size;
  if (receive_window_ < 0) return wrong("more than the connection's window");
  constexpr std::int64_t low_water = 32768;
  if (receive_window_ < low_water) {
    put(FrameType::window_update, 0, 0, number_text(static_cast<std::uint32_t>(65535 - receive_window_)));
    receive_window_ = 65535;
    soon();
  }
  const auto content = content_of(frame);
  if (!content) return wrong("payload with wrong padding");
  const auto found = streams_.find(frame.stream);
  if (found == streams_.end()) {
    if (frame.stream == 0 || frame.stream > std::max(last_id_, next_id_)) wrong("payload on an idle stream");
    return;
  }
  const auto stream = found->second;
  if (stream->whole) return wrong("payload behind the end");
  if (!stream->head_seen) return wrong("payload before the head");
  stream->receive_window -= size;
  if (stream->receive_window < 0) return wrong("more than the stream's window");
  stream->received += content->size();
  if (stream->bodiless && !content->empty()) return wrong("a body where there is none");
  if (!content->empty()) stream->in.push(stream->chunks ? chunk_of(*content) : *content);
  const std::size_t filler = frame.payload.size() - content->size();
  if (filler > 0) consumed(stream, filler);
  if (frame.has(end_stream)) end_of_input(*stream);
  if (stream->changed) stream->changed();
}

// END_STREAM vouches for what came before it, as the end of a body does in HTTP/1.
void Trunk::end_of_input(Stream& stream) {
  stream.whole = true;
  if (stream.expected != UINT64_MAX && stream.expected != stream.received)
    return wrong("a stream that ends at another length than it said");
  if (stream.chunks) stream.in.push("0\r\n\r\n");
  if (stream.ended) running_.erase(stream.id);
  if (stream.changed) stream.changed();
}

}  // namespace ebb::sim
