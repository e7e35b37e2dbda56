// One connection to an endpoint that speaks HTTP/2: its codec, and which stream is which. Owned by its
// BackendConnection.
#pragma once

#include <optional>
#include <vector>

#include "base/clock.h"
#include "gate/h2_frames.h"
#include "lifecycle/silence.h"

namespace ebb::gate {

class H2Backends;

class H2BackendSession final : public wire::H2Listener {
 public:
  H2BackendSession(H2Backends& owner, base::Handle connection, const wire::H2Limits& limits)
      : owner_(owner), connection_(connection), codec(wire::H2Session::Role::client, limits, *this) {}

  void on_response(wire::StreamId stream, const wire::ResponseHead& head) override;
  void on_payload(wire::StreamId stream, base::Slice bytes) override;
  void on_whole(wire::StreamId stream, std::string_view trailers) override;
  void on_stream_failed(wire::StreamId stream, base::Cause cause, bool unprocessed) override;
  void on_stream_drained(wire::StreamId stream) override;
  void on_going_away() override { retire(base::Cause::backend_going_away); }
  void on_ping_answered() override {}  // any byte is an answer
  // A client hears none of these.
  void on_request(wire::StreamId, const wire::RequestHead&) override {}
  void on_request_refused(wire::StreamId, base::Cause, const char*) override {}

 private:
  H2Backends& owner_;
  base::Handle connection_;

 public:
  wire::H2Session codec;
  StreamMap streams;
  std::vector<base::Handle> waiting;  // streams of exchanges, until the endpoint's SETTINGS are there
  std::vector<base::Handle> touched;  // by what was received last
  lifecycle::Silence silence;
  base::Instant opened{};
  base::Instant idle_since{};
  bool presumed = false;               // of an endpoint that chooses: HTTP/2 was agreed on before, and may not be again
  std::optional<base::Cause> retired;  // no new streams, and why; it closes by this when it has none
  bool scheduled = false;

  // The first reason counts.
  void retire(base::Cause cause) {
    if (!retired) retired = cause;
  }
  std::size_t busy() const { return streams.size() + waiting.size(); }
};

}  // namespace ebb::gate
