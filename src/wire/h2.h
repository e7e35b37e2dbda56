// HTTP/2 without I/O: frames in, messages out, and back. Only h2*.cc names nghttp2. Heads have the form of HTTP/1
// (wire/h1_head.h), so that code between client and endpoint need not know their protocols.
//
// Before: wire/tls or the reactor. Next: gate/h2_clients, gate/h2_backends.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/backlog.h"
#include "base/block.h"
#include "base/cause.h"
#include "base/clock.h"
#include "wire/h1_head.h"
#include "wire/written_request.h"

namespace ebb::wire {

class H2Fields;
using StreamId = std::int32_t;

struct H2Limits {
  HeadLimits head;
  std::uint32_t streams = 128;                            // concurrent, opened by the peer
  std::uint32_t stream_window = std::uint32_t{64} << 10;  // bytes of one stream that wait for their reader
  std::uint32_t connection_window = std::uint32_t{1} << 20;
};

// Called from inside H2Session::receive() and collect(), in the order of the frames. A stream that failed, or that is
// complete on both sides, is not reported again.
class H2Listener {
 public:
  virtual ~H2Listener() = default;

  // Server. Views live during the call. Framing: none if the head ends the stream, length if the head states one, else
  // chunked (unknown length). For an extended CONNECT (RFC 8441) `upgrade` is its :protocol. Cookies are joined (RFC
  // 9113 8.2.3), field names are lower case, connection fields are absent.
  virtual void on_request(StreamId stream, const RequestHead& head) = 0;
  // Server: a head that is well-formed HTTP/2 but refused (too large, ambiguous authority). Answer with the status of
  // the cause; nothing else of this stream is reported.
  virtual void on_request_refused(StreamId stream, base::Cause cause, const char* why) = 0;
  // Client: interim heads, then the final head. Framing as above; also none for HEAD, 204 and 304.
  virtual void on_response(StreamId stream, const ResponseHead& head) = 0;
  virtual void on_payload(StreamId stream, base::Slice bytes) = 0;
  // The peer's half is complete; not called if the head's framing was none. Trailers as in wire/h1_body.
  virtual void on_whole(StreamId stream, std::string_view trailers) = 0;
  // The stream ended before both halves were complete. `unprocessed`: the peer guarantees that it never acted on the
  // request (REFUSED_STREAM, or beyond the last stream of its GOAWAY).
  virtual void on_stream_failed(StreamId stream, base::Cause cause, bool unprocessed) = 0;
  // All output of the stream has left collect(), after unsent() was above zero at the end of a collect() or at a
  // postpone().
  virtual void on_stream_drained(StreamId stream) = 0;
  virtual void on_ping_answered() = 0;
  // The peer will accept no new streams. Streams that it never saw are reported by on_stream_failed first.
  virtual void on_going_away() = 0;
};

class H2Session {
 public:
  enum class Role : std::uint8_t { server, client };
  enum class Status : std::uint8_t {
    open,
    failed,  // see cause(); send what collect() still gives (GOAWAY), then close
  };

  H2Session(Role role, const H2Limits& limits, H2Listener& listener);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  Status receive(const base::Slice& bytes, base::Instant now);
  base::Cause cause() const;
  const char* why() const;  // in words

  // Appends the frames that may go out now, until `out` has about `room` bytes. Only small payload is copied. `now` is
  // for backlog() only.
  void collect(base::BlockPool& pool, base::Chain& out, std::size_t room, base::Instant now = {});
  bool has_output() const;  // collect() would add frames
  // Call instead of collect() when there is no room: waiting streams will be told when they have drained.
  void postpone();

  // Server: an interim or the final head. Hop-by-hop fields are dropped, as in h1_write. `whole`: no body follows. 101
  // becomes the 200 of an extended CONNECT (RFC 8441).
  void respond(StreamId stream, const ResponseHead& head, bool whole);
  // Client: opens a stream; 0 if not allowed (see may_open). With `upgrade` an extended CONNECT.
  StreamId request(const RequestHead& head, std::string_view scheme, bool whole);
  // The same for a written head. With `tunnel` an extended CONNECT, else its upgrade is ignored. Also 0 if HTTP/2
  // cannot express the head: without an authority, or with too many fields.
  StreamId request(const WrittenRequest& head, Method method, std::string_view scheme, bool tunnel, bool whole);
  bool may_open() const;                     // within the peer's limit, without GOAWAY from either side
  bool peer_takes_extended_connect() const;  // as its SETTINGS said
  bool settings_received() const;

  // True if the stream had no waiting payload before.
  bool send(StreamId stream, base::Chain&& payload);
  void finish(StreamId stream,
              std::string_view trailers);  // END_STREAM after the queued payload; trailers as lines with CRLF
  std::size_t unsent(StreamId stream) const;
  std::size_t held(StreamId stream) const;       // memory that this payload keeps alive
  std::size_t held() const;                      // the same for all streams
  std::size_t heads_held() const;                // memory of heads before collect(), outside of blocks
  std::size_t control_held() const;              // the same for control frames
  base::Backlog backlog(StreamId stream) const;  // the same, and when bytes last left
  // Ends the stream at once, without a report. The code follows from the cause. Completed: NO_ERROR (of a finished half
  // only after all output has left, so that an early answer stays whole). client_* and cancelled: CANCEL. backend_empty
  // and others that never reached an endpoint: REFUSED_STREAM if `unprocessed`. Others: INTERNAL_ERROR.
  void reset(StreamId stream, base::Cause cause, bool unprocessed = false);
  // Server: a request reported by on_request() was refused as malformed. Too many such requests end the connection.
  void charge_fault();
  // The reader has taken these bytes: opens the windows again.
  void consumed(StreamId stream, std::size_t bytes);

  std::size_t streams() const;  // open now
  void ping();
  // Refuses new streams. The first call warns, so that streams in flight are still served; the second sends the last
  // id.
  void go_away(base::Cause cause);

 private:
  struct State;
  StreamId submit_request(const H2Fields& fields, Method method, bool whole);
  std::unique_ptr<State> state_;
};

}  // namespace ebb::wire
