// HTTP/2 without I/O: frames in, messages out, and back. nghttp2 is named in h2*.cc only. Heads are those of HTTP/1
// (wire/h1_head.h), so that whoever joins a client to an endpoint need not know what either speaks.
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
  std::uint32_t streams = 128;                            // that the peer may have open at once
  std::uint32_t stream_window = std::uint32_t{64} << 10;  // bytes of one stream that wait for their reader
  std::uint32_t connection_window = std::uint32_t{1} << 20;
};

// Told from inside H2Session::receive() and collect(), in the order of the frames. A stream that was reported as
// failed, or both of whose halves are complete, is not named again.
class H2Listener {
 public:
  virtual ~H2Listener() = default;

  // Server. Views live during the call. Framing: none if the head ends the stream, length if it has one, else chunked
  // (a length that is not known). For an extended CONNECT (RFC 8441) `upgrade` is its :protocol. Cookies are joined
  // (RFC 9113 8.2.3), field names are lower case, connection fields are not among them.
  virtual void on_request(StreamId stream, const RequestHead& head) = 0;
  // Server: a head that is well-formed HTTP/2 but not to be served (too large, ambiguous authority). It should be
  // answered with the status of the cause; nothing else of this stream is reported.
  virtual void on_request_refused(StreamId stream, base::Cause cause, const char* why) = 0;
  // Client: interim heads, then the final one. Framing as above; also none for HEAD, 204 and 304.
  virtual void on_response(StreamId stream, const ResponseHead& head) = 0;
  virtual void on_payload(StreamId stream, base::Slice bytes) = 0;
  // The peer's half is complete; not told when the head's framing was none. Trailers: as of wire/h1_body.
  virtual void on_whole(StreamId stream, std::string_view trailers) = 0;
  // It ended before both halves were complete. `unprocessed`: the peer vouches that it never acted on the request
  // (REFUSED_STREAM, or beyond the last stream of its GOAWAY).
  virtual void on_stream_failed(StreamId stream, base::Cause cause, bool unprocessed) = 0;
  // What was sent on the stream has left collect(), after unsent() had been above zero at the end of a collect() or
  // at a postpone().
  virtual void on_stream_drained(StreamId stream) = 0;
  virtual void on_ping_answered() = 0;
  // The peer will take no new stream. Streams that it never saw are reported by on_stream_failed first.
  virtual void on_going_away() = 0;
};

class H2Session {
 public:
  enum class Role : std::uint8_t { server, client };
  enum class Status : std::uint8_t {
    open,
    failed,  // see cause(); what collect() still gives (GOAWAY) should be sent, then the connection closed
  };

  H2Session(Role role, const H2Limits& limits, H2Listener& listener);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  Status receive(const base::Slice& bytes, base::Instant now);
  base::Cause cause() const;
  const char* why() const;  // in words

  // Frames that may go out now, until about `room` bytes are in `out`. Payload is not copied unless it is small. `now`
  // is for backlog() only.
  void collect(base::BlockPool& pool, base::Chain& out, std::size_t room, base::Instant now = {});
  bool has_output() const;  // collect() would give something
  // Instead of collect() when there is no room at all: streams that wait are told when they no longer do.
  void postpone();

  // Server: an interim or the final head. Hop-by-hop fields stay behind, as in h1_write. `whole`: no body follows.
  // 101 is sent as the 200 of an extended CONNECT (RFC 8441).
  void respond(StreamId stream, const ResponseHead& head, bool whole);
  // Client: opens a stream; 0 if it may not (see may_open). With `upgrade` an extended CONNECT.
  StreamId request(const RequestHead& head, std::string_view scheme, bool whole);
  // The same for a head that was written. With `tunnel` an extended CONNECT, else its upgrade is passed over. Also 0 if
  // HTTP/2 cannot say it: without an authority, or with more fields than a head may have.
  StreamId request(const WrittenRequest& head, Method method, std::string_view scheme, bool tunnel, bool whole);
  bool may_open() const;                     // within the peer's limit, and nobody is going away
  bool peer_takes_extended_connect() const;  // its SETTINGS have said so
  bool settings_received() const;

  // True: nothing waited on the stream before.
  bool send(StreamId stream, base::Chain&& payload);
  void finish(StreamId stream,
              std::string_view trailers);  // END_STREAM after what was sent; trailers as lines with CRLF
  std::size_t unsent(StreamId stream) const;
  std::size_t held(StreamId stream) const;       // memory that this payload keeps from being freed
  std::size_t held() const;                      // the same of all streams
  std::size_t heads_held() const;                // memory of heads that have not left collect(), outside of blocks
  std::size_t control_held() const;              // the same of control frames
  base::Backlog backlog(StreamId stream) const;  // the same, and when some of it last left
  // Ends the stream at once; it is not reported. The code follows from the cause: completed NO_ERROR (of a finished
  // half only when all of it has left, so that an answer before the request's end stays whole), client_* and cancelled
  // CANCEL, backend_empty and others that never reached an endpoint REFUSED_STREAM if `unprocessed`, else
  // INTERNAL_ERROR.
  void reset(StreamId stream, base::Cause cause, bool unprocessed = false);
  // Server: a request that on_request() has told of had to be refused for what it is. Too many end the connection.
  void charge_fault();
  // The reader has taken them: opens the windows again.
  void consumed(StreamId stream, std::size_t bytes);

  std::size_t streams() const;  // open now
  void ping();
  // No new streams: a warning first, so that those on their way are still served, then (second call) the last id.
  void go_away(base::Cause cause);

 private:
  struct State;
  StreamId submit_request(const H2Fields& fields, Method method, bool whole);
  std::unique_ptr<State> state_;
};

}  // namespace ebb::wire
