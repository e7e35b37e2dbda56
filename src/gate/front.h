// The client's half of an exchange, whatever the client speaks: an HTTP/1 connection (gate/clients) or a stream of an
// HTTP/2 one (gate/h2_clients). `end` is the handle of the connection or of the stream.
#pragma once

#include <string_view>

#include "gate/peer.h"
#include "routes/policy_model.h"
#include "wire/h1_head.h"

namespace ebb::gate {

struct ClientConnection;
struct ResponseChanges;

// An answer of the router's own.
struct OwnAnswer {
  int status = 0;
  std::string_view words;
  base::Cause cause = base::Cause::none;
  bool head_only = false;                        // the request was HEAD
  bool grpc = false;                             // the request was a call of gRPC
  bool request_whole = false;                    // nothing of the request is still to come
  std::string_view location = {};                // of a redirect
  bool says_methods = false;                     // which ones are served
  std::uint64_t retry_after = 0;                 // in seconds; 0: not said, but for 503
  const routes::ErrorBodyModel* body = nullptr;  // the route's, instead of a line of text
  const ResponseChanges* changes = nullptr;      // by the route
};

class Front : public Peer {
 public:
  // What carries it; nullptr when it is gone.
  virtual ClientConnection* connection(base::Handle end) = 0;
  virtual bool has_client() const { return true; }  // false: nobody waits for the answer (gate/nobody.h)

  // The response, step by step: an interim or the final head, payload, the end. What one system call can send is
  // gathered in `out` and leaves with flush(), or with the end.
  virtual void add_head(base::Handle end, const wire::ResponseHead& head, bool request_whole, base::Chain& out) = 0;
  virtual void add_payload(base::Handle end, const base::Slice& source, std::uint32_t at, std::uint32_t size,
                           base::Chain& out) = 0;
  virtual void send_end(base::Handle end, std::string_view trailers, base::Chain&& out) = 0;
  // In place of all of these; the exchange is then over for this side. Returns how long the answer's body was.
  virtual std::size_t answer(base::Handle end, const OwnAnswer& answer) = 0;

  // Exchanges that share the client's buffers, this one among them.
  virtual std::size_t sharing(base::Handle end) = 0;
  virtual reactor::Receive bulk() const = 0;  // how a long response is best received for it
  // Trailers can still be sent behind what was sent of the response.
  virtual bool takes_trailers(base::Handle end) = 0;
  // Where a tunnel was asked for, any 2xx says that it is there (RFC 8441 section 5).
  virtual bool success_opens_tunnel() const = 0;
  virtual bool finished(base::Handle end) = 0;  // the client sends no more
  // When the client last sent of any request's body that shares its connection with this one.
  virtual base::Instant body_came(base::Handle /*end*/) { return {}; }

  // The response is complete: what the client does next is no matter of this exchange.
  virtual void release(base::Handle end, bool request_whole) = 0;
  // The response cannot be completed: the client must be able to tell.
  virtual void cut(base::Handle end, base::Cause cause) = 0;
};

}  // namespace ebb::gate
