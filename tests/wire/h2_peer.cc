#include "wire/h2_peer.h"

#include <algorithm>

namespace ebb::wire::h2_test {
namespace {

std::string text_of(Framing framing) {
  switch (framing) {
    case Framing::none: return "none";
    case Framing::length: return "length";
    case Framing::chunked: return "chunked";
    case Framing::until_close: return "until_close";
  }
  return "";
}

std::string text_of(std::string_view view) { return std::string(view); }

std::map<std::string, std::string> map_of(const Fields& fields) {
  std::map<std::string, std::string> map;
  for (const Field& each : fields.all()) {
    std::string& value = map[text_of(each.name)];
    value += value.empty() ? text_of(each.value) : "|" + text_of(each.value);
  }
  return map;
}

}  // namespace

void Recorder::on_request(StreamId stream, const RequestHead& head) {
  std::string event = "request " + std::to_string(stream) + " " + text_of(head.method_text) + " " +
                      text_of(head.authority) + " " + text_of(head.path) + " " + text_of(head.framing);
  if (head.framing == Framing::length) event += " " + std::to_string(head.content_length);
  if (!head.upgrade.empty()) event += " upgrade " + text_of(head.upgrade);
  if (head.expect_continue) event += " expects";
  if (head.te_trailers) event += " te";
  fields = map_of(head.fields);
  note(event);
  if (when_request) when_request(stream, head);
}

void Recorder::on_request_refused(StreamId stream, base::Cause cause, const char*) {
  note("refused " + std::to_string(stream) + " " + text_of(base::name(cause)));
}

void Recorder::on_response(StreamId stream, const ResponseHead& head) {
  std::string event =
      "response " + std::to_string(stream) + " " + std::to_string(head.status) + " " + text_of(head.framing);
  if (head.has_length) event += " " + std::to_string(head.content_length);
  fields = map_of(head.fields);
  note(event);
  if (when_response) when_response(stream, head);
}

void Recorder::on_payload(StreamId stream, base::Slice bytes) {
  payload[stream] += bytes.view();
  const std::size_t size = bytes.size();
  if (keep_slices) slices.push_back(std::move(bytes));
  if (when_payload) when_payload(stream, size);
}

void Recorder::on_whole(StreamId stream, std::string_view trailers) {
  note("whole " + std::to_string(stream) + (trailers.empty() ? "" : " " + text_of(trailers)));
  if (when_whole) when_whole(stream);
}

void Recorder::on_stream_failed(StreamId stream, base::Cause cause, bool unprocessed) {
  note("failed " + std::to_string(stream) + " " + text_of(base::name(cause)) + (unprocessed ? " unprocessed" : ""));
  if (when_failed) when_failed(stream);
}

void Recorder::on_stream_drained(StreamId stream) {
  note("drained " + std::to_string(stream));
  if (when_drained) when_drained(stream);
}

std::string End::take(std::size_t room) {
  base::Chain out;
  session.collect(pool, out, room);
  std::string bytes;
  for (std::uint32_t i = 0; i < out.slices(); ++i) bytes += out[i].view();
  return bytes;
}

H2Session::Status End::give(std::string_view bytes, base::Instant now) {
  return session.receive(pool.copy(bytes), now);
}

void End::send(StreamId stream, std::string_view bytes) {
  base::Chain chain;
  chain.push(pool.copy(bytes));
  session.send(stream, std::move(chain));
}

void Joined::run(std::size_t piece) {
  const auto carry = [piece](End& from, End& to) {
    const std::string bytes = from.take();
    for (std::size_t at = 0; at < bytes.size(); at += piece) to.give(std::string_view(bytes).substr(at, piece));
    return !bytes.empty();
  };
  while (true) {
    const bool forth = carry(client, server);
    const bool back = carry(server, client);
    if (!forth && !back) return;
  }
}

std::string write(std::uint8_t type, std::uint8_t flags, StreamId stream, std::string_view payload) {
  std::string bytes = number(static_cast<std::uint32_t>(payload.size())).substr(1);
  bytes += static_cast<char>(type);
  bytes += static_cast<char>(flags);
  return bytes.append(number(static_cast<std::uint32_t>(stream))).append(payload);
}

std::vector<Frame> read(std::string_view bytes) {
  std::vector<Frame> frames;
  const auto byte = [&bytes](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  while (bytes.size() >= 9) {
    const std::size_t length = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
    const auto stream = static_cast<StreamId>(std::uint32_t{byte(5)} << 24 | std::uint32_t{byte(6)} << 16 |
                                              std::uint32_t{byte(7)} << 8 | byte(8));
    frames.push_back({byte(3), byte(4), stream, text_of(bytes.substr(9, length))});
    bytes.remove_prefix(9 + length);
  }
  EXPECT_TRUE(bytes.empty());
  return frames;
}

std::string number(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string field(std::string_view name, std::string_view value) {
  const auto prefixed = [](std::string& out, std::string_view text) {
    std::size_t size = text.size();
    if (size < 127) {
      out += static_cast<char>(size);
    } else {
      out += static_cast<char>(127);
      for (size -= 127; size >= 128; size >>= 7) out += static_cast<char>(0x80 | (size & 0x7f));
      out += static_cast<char>(size);
    }
    out += text;
  };
  std::string bytes(1, '\0');
  prefixed(bytes, name);
  prefixed(bytes, value);
  return bytes;
}

std::string get_fields(std::string_view path) {
  return field(":method", "GET") + field(":scheme", "http") + field(":authority", "a.example") + field(":path", path);
}

RawClient::RawClient(const H2Limits& limits) : end(H2Session::Role::server, limits) {
  give("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + write(frame::settings, 0, 0, ""));
  end.take();
  give(write(frame::settings, frame::ack, 0, ""));
}

std::int64_t RawClient::code_of(std::uint8_t type) {
  for (const Frame& each : answers()) {
    if (each.type != type) continue;
    const std::size_t at = type == frame::goaway ? 4 : 0;
    std::uint32_t code = 0;
    for (std::size_t i = 0; i < 4; ++i) code = code << 8 | static_cast<std::uint8_t>(each.payload.at(at + i));
    return code;
  }
  return -1;
}

RequestHead& make_request(Method method, std::string_view method_text, std::string_view path, Framing framing) {
  static RequestHead head;
  head = {};
  head.method = method;
  head.method_text = method_text;
  head.authority = "a.example";
  head.path = head.target = path;
  head.framing = framing;
  return head;
}

ResponseHead& make_response(std::uint16_t status) {
  static ResponseHead head;
  head = {};
  head.status = status;
  return head;
}

}  // namespace ebb::wire::h2_test
