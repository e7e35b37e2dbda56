// One client connection that speaks HTTP/2: its codec, and which stream is which. Owned by its ClientConnection.
#pragma once

#include "gate/h2_frames.h"

namespace ebb::gate {

class H2Clients;

// Our GOAWAY, in its two steps (RFC 9113 6.8).
enum class Farewell : std::uint8_t {
  none,
  warned,     // streams that are on their way are served still
  last_named  // and the client knows the last that is
};

class H2ClientSession final : public wire::H2Listener {
 public:
  H2ClientSession(H2Clients& owner, base::Handle client, const wire::H2Limits& limits, base::BlockPool& blocks)
      : owner_(owner), client_(client), codec(wire::H2Session::Role::server, limits, *this), charge(blocks) {}

  void on_request(wire::StreamId stream, const wire::RequestHead& head) override;
  void on_request_refused(wire::StreamId stream, base::Cause cause, const char* why) override;
  void on_payload(wire::StreamId stream, base::Slice bytes) override;
  void on_whole(wire::StreamId stream, std::string_view trailers) override;
  void on_stream_failed(wire::StreamId stream, base::Cause cause, bool unprocessed) override;
  void on_stream_drained(wire::StreamId stream) override;
  void on_going_away() override { client_leaves = true; }
  // The PING went out behind the warning: whatever the client had sent before it read the warning has come by now, so
  // the last stream can be named (RFC 9113 6.8). Before that, a request on its way would end with no word said of it.
  void on_ping_answered() override {
    if (farewell != Farewell::warned) return;
    farewell = Farewell::last_named;
    codec.go_away(base::Cause::shutdown);
  }
  void on_response(wire::StreamId, const wire::ResponseHead&) override {}  // a server hears none

 private:
  H2Clients& owner_;
  base::Handle client_;

 public:
  wire::H2Session codec;
  base::Charge charge;  // what the codec holds outside of blocks
  StreamMap streams;
  std::uint32_t exchanges = 0;   // running on its streams
  std::size_t heads_held = 0;    // memory of their requests' heads
  base::Instant body_came{};     // of any of them, last
  std::size_t answers_held = 0;  // without exchanges: what the codec held of answers when some last left
  bool scheduled = false;        // it has output to collect
  bool paused = false;           // too many heads wait for it to read: it is not read from either
  Farewell farewell = Farewell::none;
  bool client_leaves = false;  // it has sent GOAWAY: what runs is finished, then nothing more will come

  // It closes when it has no stream.
  bool outlived() const { return farewell == Farewell::last_named || client_leaves; }
};

}  // namespace ebb::gate
