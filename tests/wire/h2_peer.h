// Two ways to face a session: another session of ours (Joined), or frames written by hand (RawPeer).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "wire/h2.h"

namespace ebb::wire::h2_test {

// Writes down what it is told; hooks run inside the call, as the gate's code does.
class Recorder final : public H2Listener {
 public:
  void on_request(StreamId stream, const RequestHead& head) override;
  void on_request_refused(StreamId stream, base::Cause cause, const char* why) override;
  void on_response(StreamId stream, const ResponseHead& head) override;
  void on_payload(StreamId stream, base::Slice bytes) override;
  void on_whole(StreamId stream, std::string_view trailers) override;
  void on_stream_failed(StreamId stream, base::Cause cause, bool unprocessed) override;
  void on_stream_drained(StreamId stream) override;
  void on_ping_answered() override { note("ping answered"); }
  void on_going_away() override { note("going away"); }

  std::vector<std::string> events;  // payload is not among them
  std::map<StreamId, std::string> payload;
  std::vector<base::Slice> slices;  // of payload, if keep_slices
  bool keep_slices = false;
  std::map<std::string, std::string> fields;  // of the last head
  std::function<void(StreamId, const RequestHead&)> when_request;
  std::function<void(StreamId, const ResponseHead&)> when_response;
  std::function<void(StreamId, std::size_t)> when_payload;
  std::function<void(StreamId)> when_whole;
  std::function<void(StreamId)> when_failed;
  std::function<void(StreamId)> when_drained;

 private:
  void note(std::string event) { events.push_back(std::move(event)); }
};

struct End {
  explicit End(H2Session::Role role, const H2Limits& limits = {}) : session(role, limits, told) {}

  // What it would send, as bytes.
  std::string take(std::size_t room = std::size_t{1} << 20);
  H2Session::Status give(std::string_view bytes, base::Instant now = base::Instant{});
  void send(StreamId stream, std::string_view bytes);

  base::BlockPool pool;
  Recorder told;
  H2Session session;
};

struct Joined {
  explicit Joined(const H2Limits& server_limits = {}, const H2Limits& client_limits = {})
      : client(H2Session::Role::client, client_limits), server(H2Session::Role::server, server_limits) {}

  // Until both are silent; bytes arrive in pieces of this size.
  void run(std::size_t piece = std::size_t{1} << 20);

  End client;
  End server;
};

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  StreamId stream = 0;
  std::string payload;
};

namespace frame {
inline constexpr std::uint8_t data = 0, headers = 1, priority = 2, reset = 3, settings = 4, ping = 6, goaway = 7,
                              window_update = 8, continuation = 9;
inline constexpr std::uint8_t end_stream = 1, ack = 1, end_headers = 4, padded = 8, priority_flag = 0x20;
}  // namespace frame

std::string write(std::uint8_t type, std::uint8_t flags, StreamId stream, std::string_view payload);
std::vector<Frame> read(std::string_view bytes);
std::string number(std::uint32_t value);  // four bytes
// A literal without indexing (RFC 7541 6.2.2).
std::string field(std::string_view name, std::string_view value);
std::string get_fields(std::string_view path = "/");  // the pseudo fields of a GET

// A hand-written client: preface and SETTINGS have been exchanged.
struct RawClient {
  explicit RawClient(const H2Limits& limits = {});

  H2Session::Status give(std::string_view bytes, base::Instant now = base::Instant{}) { return end.give(bytes, now); }
  H2Session::Status headers(StreamId stream, std::string_view block, bool last = true) {
    return give(write(frame::headers, frame::end_headers | (last ? frame::end_stream : 0), stream, block));
  }
  std::vector<Frame> answers() { return read(end.take()); }
  // The code of the first frame of this type among the answers, or -1.
  std::int64_t code_of(std::uint8_t type);

  End end;
};

// Heads for requests and responses of the tests.
RequestHead& make_request(Method method, std::string_view method_text, std::string_view path, Framing framing);
ResponseHead& make_response(std::uint16_t status);

}  // namespace ebb::wire::h2_test
