// A connection that speaks HTTP/2: one request per stream, with the body read and dropped; or a WebSocket per stream.
#pragma once

#include <unordered_map>

#include "canary/echo.h"
#include "canary/websocket_echo.h"
#include "wire/h2.h"

namespace ebb::canary {

class H2Echo final : public EchoProtocol, private wire::H2Listener {
 public:
  H2Echo(EchoDesk& desk, std::uint16_t port)
      : desk_(desk), port_(port), codec_(wire::H2Session::Role::server, wire::H2Limits{}, *this) {}

  void take(base::Slice bytes, base::Instant now, base::Chain& out) override;
  void refill(base::Chain& out) override;
  void leave(base::Chain& out) override;
  Waiting waiting() const override;
  std::uint64_t turn() const override { return answers_; }

 private:
  struct Stream {
    EchoRequest request;
    WebsocketEcho echo;      // for a WebSocket
    std::size_t echoed = 0;  // bytes whose echo has not left yet
  };

  void on_request(wire::StreamId id, const wire::RequestHead& head) override;
  void on_request_refused(wire::StreamId id, base::Cause cause, const char* why) override;
  void on_payload(wire::StreamId id, base::Slice bytes) override;
  void on_whole(wire::StreamId id, std::string_view trailers) override;
  void on_stream_failed(wire::StreamId id, base::Cause cause, bool unprocessed) override;
  void on_stream_drained(wire::StreamId) override {}
  void on_ping_answered() override;
  void on_going_away() override { client_leaves_ = true; }
  void on_response(wire::StreamId, const wire::ResponseHead&) override {}  // never called on a server

  void answer(wire::StreamId id, const EchoRequest& request);
  void refuse(wire::StreamId id, base::Cause cause);
  void send(wire::StreamId id, std::string_view bytes);
  void forget(wire::StreamId id);

  EchoDesk& desk_;
  const std::uint16_t port_;
  wire::H2Session codec_;
  std::unordered_map<wire::StreamId, Stream> streams_;  // unanswered streams and WebSockets
  std::size_t tunnels_ = 0;
  std::uint64_t answers_ = 0;
  bool failed_ = false;
  bool leaving_ = false;
  bool last_named_ = false;  // GOAWAY has named the last stream
  bool client_leaves_ = false;
};

}  // namespace ebb::canary
