// One request and its response, from the complete head to the last byte. Owns Exchange objects and ties a client
// connection to a backend connection. Written in four files, in the order of a request's way:
//   exchanges.cc      begin, choose, connect, retry, fail, end
//   request_path.cc   the request's body to the endpoint
//   response_path.cc  the endpoint's answer to the client
//   tunnel.cc         both ways after 101
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "gate/clients.h"
#include "gate/core.h"
#include "lifecycle/exchange.h"
#include "lifecycle/retry.h"
#include "wire/h1_body.h"

namespace ebb::gate {

struct BackendConnection;

struct Exchange {
  base::Handle self;
  base::Handle client;
  base::Handle backend;   // leased or connecting
  base::Handle endpoint;  // counted as active there
  lifecycle::ExchangeMachine life;
  base::Timer timer;
  SnapshotRef snapshot;
  const routes::Route* route = nullptr;

  wire::Method method = wire::Method::other;
  std::uint8_t client_minor = 1;
  bool client_keeps = true;  // the client would keep its connection
  bool upgrade_asked = false;
  bool replayable = false;       // what was sent is still in `kept`
  bool fresh_only = false;       // a pooled connection was stale: the next try opens one
  bool pumping_request = false;  // the kernel moves the body
  bool pumping_response = false;
  bool response_bytes = false;                   // the endpoint has said something
  bool backend_finished = false;                 // tunnels: its half is closed
  base::Cause refusal = base::Cause::completed;  // decided with the head, answered by start()
  base::Cause last_failure = base::Cause::backend_empty;
  std::vector<base::Handle> tried;

  wire::BodyReader request_body;
  base::Chain outgoing;  // head and body that wait for a connection
  base::Chain kept;      // head and body that were sent, for a replay

  wire::BodyReader response_body;
  bool response_chunked = false;  // to the client
  bool keep_client = true;        // what the response's head promised
  bool keep_backend = true;       // what it says about the endpoint's connection
  bool close_delimited = false;   // only the close tells the client that the body is over

  // For the record.
  std::uint16_t status = 0;
  std::uint16_t tries = 0;
  bool reused = false;
  base::Instant started;
  base::Instant handed_over;
  base::Instant first_byte;
  base::WallTime started_wall;
  std::uint64_t request_bytes = 0;
  std::uint64_t response_sent = 0;
  std::size_t unsent_before = 0;  // when the deadline was set: has anything moved since?
  std::string text;               // method, authority, target, referer, user agent; filled only for the access log
  std::uint32_t text_ends[5] = {};
};

class Exchanges {
 public:
  explicit Exchanges(Core& core) : core_(core) {}

  // A head is complete; its views are valid during the call. Body bytes may be fed before start().
  base::Handle begin(ClientConnection& client, const wire::RequestHead& head);
  void start(base::Handle exchange);

  // From the client's side. on_request_bytes takes what belongs to the body and leaves the rest.
  bool wants_request_bytes(base::Handle exchange);
  void on_request_bytes(base::Handle exchange, base::Chain& bytes);
  void on_client_finished(base::Handle exchange);
  void on_client_left(base::Handle exchange, base::Cause cause);
  void on_client_drained(base::Handle exchange);
  void on_tunnel_bytes_from_client(base::Handle exchange, base::Slice bytes);

  // From the backend's side.
  void on_leased(base::Handle exchange, base::Handle backend);
  void on_response_bytes(base::Handle exchange, base::Slice bytes);
  void on_backend_finished(base::Handle exchange);
  void on_backend_failed(base::Handle exchange, base::Cause cause);  // its connection is closed already
  void on_backend_drained(base::Handle exchange);

  void on_pumped(base::Handle exchange, OwnerKind from, std::uint64_t moved, bool done);
  void on_timer(base::Handle exchange);

  // A head that never became an exchange is recorded as well.
  void record_refusal(const ClientConnection& client, base::Cause cause);

  void bury();
  std::size_t size() const { return exchanges_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    exchanges_.for_each(callback);
  }

 private:
  using Event = lifecycle::ExchangeLife::Event;
  using State = lifecycle::ExchangeLife::State;

  Exchange* live(base::Handle handle);
  void step(Exchange& exchange, Event event);
  bool request_is_whole(const Exchange& exchange) const { return exchange.request_body.complete(); }

  // exchanges.cc
  void choose(Exchange& exchange);
  void attach(Exchange& exchange, base::Handle backend);
  void detach_endpoint(Exchange& exchange);
  void retry_or_fail(Exchange& exchange, base::Cause cause);
  void fail(Exchange& exchange, Event event, base::Cause cause);
  bool response_has_begun(const Exchange& exchange) const;
  void answer(Exchange& exchange, base::Cause cause);
  void end(Exchange& exchange, base::Cause cause);
  void record(const Exchange& exchange, const ClientConnection& client, base::Cause cause);
  struct Patience {
    base::Duration limit{};
    base::Cause cause;
  };
  Patience patience(const Exchange& exchange, std::size_t to_client, std::size_t to_backend) const;
  std::size_t unsent_to_client(const Exchange& exchange) const;
  std::size_t unsent_to_backend(const Exchange& exchange) const;
  void arm_for_state(Exchange& exchange);

  // request_path.cc
  void send_request(Exchange& exchange);
  bool take_request_body(Exchange& exchange, base::Chain& bytes);
  void request_moved(Exchange& exchange);
  bool pump_request(Exchange& exchange, ClientConnection& client, BackendConnection& backend);
  void keep_for_replay(Exchange& exchange);

  // response_path.cc
  bool read_response_heads(Exchange& exchange, ClientConnection& client, BackendConnection& backend, base::Chain& out);
  void begin_response(Exchange& exchange, ClientConnection& client, const wire::ResponseHead& head, base::Chain& out);
  void take_response_body(Exchange& exchange, BackendConnection& backend, base::Chain& out);
  void response_moved(Exchange& exchange);
  bool pump_response(Exchange& exchange, ClientConnection& client, BackendConnection& backend);
  void complete(Exchange& exchange);
  void cut_short(Exchange& exchange, base::Cause cause);

  // tunnel.cc
  void become_tunnel(Exchange& exchange, ClientConnection& client, BackendConnection& backend, base::Chain&& head);
  void on_tunnel_bytes_from_backend(Exchange& exchange, base::Slice bytes);
  void tunnel_finished(Exchange& exchange, OwnerKind side);
  void close_tunnel(Exchange& exchange, base::Cause cause);

  Core& core_;
  base::SlotMap<Exchange> exchanges_;
  std::vector<base::Handle> dead_;
};

}  // namespace ebb::gate
