// The endpoint's half of an exchange, whatever the endpoint speaks: an HTTP/1 connection (gate/backends) or a stream of
// an HTTP/2 one (gate/h2_backends). `end` is the handle of the connection or of the stream.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "gate/peer.h"
#include "routes/model.h"
#include "wire/h1_head.h"
#include "wire/tls.h"
#include "wire/written_request.h"

namespace ebb::gate {

struct LiveEndpoint;

// What a new connection must know of its backend.
struct BackendTarget {
  const routes::BackendModel& model;
  std::shared_ptr<const wire::ClientContext> tls;  // null: plain
  base::Slice preface{};     // goes before all else, TLS too; the connection then belongs to one client
  std::uint32_t manner = 0;  // how connections were made when its configuration came; see BackendView
};

class Back : public Peer {
 public:
  // A connection that has served before (or a stream of one), lent to the exchange; an invalid handle: none. `look`:
  // the request could not be repeated, so ask the kernel once more whether the endpoint has closed it, and take none
  // that it may be about to close.
  virtual base::Handle lease(LiveEndpoint& endpoint, base::Handle exchange, bool look) = 0;
  // One that is still to be established; the exchange is told by Attempts::on_leased or on_backend_failed.
  virtual base::Result<base::Handle> open(base::Handle endpoint, base::Handle exchange,
                                          const BackendTarget& target) = 0;

  // The request, step by step, gathered in `out` until flush(). `whole`: nothing follows the head;
  // `method`: of the request, on which the framing of the response depends. False: it cannot be sent this way (an
  // upgrade that the endpoint does not know).
  virtual bool add_head(base::Handle end, const wire::WrittenRequest& head, wire::Method method, bool whole,
                        base::Chain& out) = 0;
  virtual void add_payload(base::Handle end, const base::Slice& payload, wire::Framing framing, base::Chain& out) = 0;
  virtual void add_end(base::Handle end, std::string_view trailers, wire::Framing framing, base::Chain& out) = 0;

  // Memory that waiting bytes of this exchange keep from being freed.
  virtual std::size_t memory(base::Handle end) = 0;
  virtual bool has_deadline(base::Handle end) = 0;  // it ends a connection attempt by itself
  virtual bool unanswered(base::Handle end) = 0;    // the endpoint's host has not answered the connection attempt
  virtual base::Handle connection_of(base::Handle end) const = 0;  // invalid: `end` is not of one
  virtual void pumped(base::Handle end, std::uint64_t bytes) = 0;  // the kernel has moved them there

  // The exchange is over. `keep`: request and response were whole.
  virtual void release(base::Handle end, bool keep) = 0;
  virtual void cancel(base::Handle end, base::Cause cause) = 0;
  // Another exchange waits for the answer now. False: it is over, and nothing will come.
  virtual bool hand_over(base::Handle end, base::Handle exchange) = 0;
  // The exchange does not wait for this connection attempt any longer; it goes on by itself, for others.
  virtual void leave(base::Handle end) = 0;
};

}  // namespace ebb::gate
