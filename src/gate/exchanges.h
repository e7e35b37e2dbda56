// One request and its response, from the complete head to the last byte. Owns Exchange objects and ties a client
// (gate/front) to an endpoint (gate/back). Written in these files, in the order of a request's way:
//   exchanges.cc      begin, choose, connect, retry, fail, end
//   holding.cc        waiting for an endpoint
//   policy_path.cc    what the route asks for besides sending
//   stickiness.cc     which endpoint the request belongs to
//   deadlines.cc      how long it may take
//   request_path.cc   the request's body to the endpoint
//   response_path.cc  the endpoint's answer to the client
//   leaving.cc        away from an endpoint that does not answer
//   witnesses.cc      what stays there, to hear it
//   mirrors.cc        copies of the request
//   tunnel.cc         both ways after 101
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gate/applied_policy.h"
#include "gate/back.h"
#include "gate/clients.h"
#include "gate/core.h"
#include "gate/front.h"
#include "lifecycle/evidence.h"
#include "lifecycle/exchange.h"
#include "lifecycle/retry.h"
#include "lifecycle/surprise.h"
#include "wire/websocket_frames.h"

namespace ebb::gate {

struct BackendView;

struct WebsocketWays {
  wire::WebsocketFrames to_client;
  wire::WebsocketFrames to_backend;
};

struct Exchange {
  base::Handle self;
  Front* front = nullptr;
  base::Handle client;  // end of `front`
  Back* back = nullptr;
  base::Handle backend;   // end of `back`: leased or connecting
  base::Handle endpoint;  // counted as active there
  lifecycle::ExchangeMachine life;
  base::Timer timer;
  SnapshotRef snapshot;
  const routes::Route* route = nullptr;      // null: none matched, or a listener of bytes
  std::unique_ptr<AppliedPolicy> applied;    // null: the route asks for nothing
  std::unique_ptr<WebsocketWays> websocket;  // null: the tunnel, if it is one, carries something else
  std::uint32_t backend_index = routes::no_backend;
  std::optional<std::uint64_t> hash_key;  // of a backend that balances by one

  wire::Method method = wire::Method::other;
  lifecycle::RequestKind kind = 0;
  bool upgrade_asked = false;
  std::string upgrade_offer;  // the protocols that were asked for, with `upgrade_asked`
  bool websocket_asked = false;
  bool grpc = false;
  bool bytes_only = false;       // a tunnel from the start: nothing is known of what it carries
  bool replayable = true;        // what was sent is still in `head` and `kept`
  bool fresh_only = false;       // a pooled connection was stale: the next try opens one
  bool head_sent = false;        // in this try
  bool end_sent = false;         // in this try
  bool request_whole = false;    // the client has sent all of it
  bool pumping_request = false;  // the kernel moves the body
  bool pumping_response = false;
  bool response_bytes = false;                   // the endpoint has said something
  bool backend_finished = false;                 // tunnels: its half is closed
  base::Cause refusal = base::Cause::completed;  // decided with the head, answered by start()
  base::Cause last_failure = base::Cause::backend_empty;
  std::vector<base::Handle> tried;
  base::Duration held{};                          // how long it has waited for an endpoint, before it was last woken
  std::uint64_t held_by = 0;                      // version of the endpoints in which it found none
  base::Instant held_since{};                     // once it had to wait
  base::Instant deadline = base::Instant::max();  // of the whole, then of the tunnel
  base::Instant try_began{};
  base::Instant try_deadline = base::Instant::max();  // of this try
  base::Instant move_on = base::Instant::max();       // from an endpoint that does not answer the connection attempt
  bool on_trial = false;                              // of a silent endpoint, by this try
  base::Instant trial_until = base::Instant::max();   // then it has not answered
  lifecycle::TrialPlan trial{};
  bool left_silence = false;  // it has left an endpoint that did not answer
  base::Handle compared;      // an endpoint that did not answer it: does another one, within the time of the trial?

  base::Slice head;                             // of the request, in the form of HTTP/1
  wire::Framing framing = wire::Framing::none;  // of its body, as the head says
  base::Chain body;                             // payload that waits for the endpoint
  base::Chain kept;                             // payload that was sent, for a replay
  std::string trailers;
  const routes::FieldEdits* request_edits = nullptr;  // of the route or its share, made on the head and the trailers
  base::Chain to_client;                              // gathered for one send
  std::uint64_t interim_bytes = 0;                    // of 1xx heads before it, of all tries

  // For the record.
  std::uint16_t status = 0;
  std::uint16_t tries = 0;
  std::uint16_t unreached = 0;  // of them, those that found nobody: they do not count against a replay
  bool reused = false;
  base::Instant started;
  base::Instant handed_over;
  base::Instant first_byte;
  base::Instant asked{};    // when the request was whole
  std::uint32_t place = 0;  // then, among the requests to its endpoint (lifecycle::Overtaking)
  base::Instant heard{};    // when a byte of the endpoint last came
  base::WallTime started_wall;
  std::uint64_t request_bytes = 0;
  std::uint64_t response_sent = 0;
  base::Handle last_endpoint;   // that it has left
  std::uint64_t own_bytes = 0;  // of the body of an answer of our own
  base::Instant moved{};        // when the deadline was set, because something had
  std::string text;             // method, authority, target, referer, user agent; filled only for the access log
  std::uint32_t text_ends[5] = {};

  AppliedPolicy& apply() {
    if (applied == nullptr) applied = std::make_unique<AppliedPolicy>();
    return *applied;
  }
};

class Exchanges {
 public:
  explicit Exchanges(Core& core) : core_(core) {}

  // A head is complete; its views are valid during the call. Body bytes may be fed before start().
  base::Handle begin(Front& front, base::Handle client, const wire::RequestHead& head);
  // TCP, or TLS that is passed through: a tunnel as soon as there is a connection.
  // `server_name`: what the client asked TLS for.
  base::Handle begin_bytes(Front& front, base::Handle client, const routes::Route* route, std::uint32_t backend,
                           std::string_view server_name);
  void start(base::Handle exchange);

  // From the client. on_request_moved() after the last payload of a batch, or on_request_whole() after the last of all.
  // False: it takes no more.
  bool on_request_payload(base::Handle exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void on_request_moved(base::Handle exchange);
  void on_request_whole(base::Handle exchange, std::string_view trailers);
  void on_request_broken(base::Handle exchange);
  // The kernel has moved payload. False: of an exchange before this one.
  bool on_request_pumped(base::Handle exchange, std::uint64_t moved);
  bool on_response_pumped(base::Handle exchange, std::uint64_t moved);
  // `half_closes`: such a client may still wait for its answer.
  void on_client_finished(base::Handle exchange, bool half_closes);
  bool ends_with_client(base::Handle exchange);  // it is not, and will not be, a tunnel whose halves end apart
  void on_client_left(base::Handle exchange, base::Cause cause);
  void on_client_drained(base::Handle exchange);
  void on_tunnel_bytes_from_client(base::Handle exchange, base::Slice bytes);

  void on_leased(base::Handle exchange, Back& back, base::Handle backend);
  void on_moved(base::Handle exchange, Back& back, base::Handle backend);  // still connecting, but by other means
  void on_backend_full(base::Handle exchange);  // connecting: what came of it has no room for this one
  // From the endpoint. flush_response() after the last of a batch.
  void on_heard(base::Handle exchange);  // before all that came with one receive
  void on_response_head(base::Handle exchange, const wire::ResponseHead& head);
  void on_response_payload(base::Handle exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void on_response_whole(base::Handle exchange, std::string_view trailers);
  void flush_response(base::Handle exchange);
  void on_tunnel_bytes_from_backend(base::Handle exchange, base::Slice bytes);
  void on_tunnel_end_from_backend(base::Handle exchange);
  // Its connection or stream is over already.
  void on_backend_failed(base::Handle exchange, base::Cause cause,
                         lifecycle::Delivery delivery = lifecycle::Delivery::unknown);
  void on_backend_drained(base::Handle exchange);

  // Those that can be repeated, and which `leaves` says of, go elsewhere; all else waits.
  template <class Leaves>  // (exchange)
  std::uint32_t leave_silent(base::Handle endpoint, Leaves&& leaves) {
    std::vector<base::Handle> leaving;
    exchanges_.for_each([&](base::Handle handle, const Exchange& exchange) {
      if (exchange.endpoint == endpoint && !exchange.on_trial && waits_for_answer(exchange) && leaves(exchange)) {
        leaving.push_back(handle);
      }
    });
    return move_away(leaving);
  }
  // One of them, to see how soon another endpoint answers it.
  bool compare(base::Handle endpoint, base::Handle exchange, const lifecycle::TrialPlan& plan);
  static bool bound_here(const Exchange& exchange);  // its client belongs to its endpoint, by a cookie

  void on_timer(base::Handle exchange);

  // A request that never became an exchange is recorded as well, with its head if that could be read.
  // `sent`: of the answer's body.
  void record_refusal(const ClientConnection& client, base::Cause cause, const wire::RequestHead* head,
                      std::size_t sent);
  // A connection that ended before anything could be asked on it; in the access log alone. `server_name`: "" unless it
  // is known.
  void log_failed_handshake(const ClientConnection& client, base::Cause cause, std::string_view server_name);

  // Nobody waits for them.
  void end_mirrors(base::Cause cause);
  // All, if no endpoint is named.
  void end_witnesses(base::Handle endpoint, base::Cause cause);
  // Requests that were sent can then not be repeated.
  void drop_replay_copies();
  // All that the endpoint still has to do.
  // How many it has cut; those that another endpoint can take are not among them.
  std::uint32_t end_of_endpoint(base::Handle endpoint, base::Cause cause);
  // Requests that waited for an endpoint look again.
  void serve_held();

  // Those whose machine had no row for what happened.
  bool end_broken();  // false: there were none
  void bury();
  // Memory of the request's head and of the texts that go with it.
  static std::size_t head_memory(const Exchange& exchange);
  std::size_t head_memory(base::Handle exchange) const;
  std::size_t size() const { return exchanges_.size() - dead_.size(); }
  template <class Callback>
  void for_each(Callback&& callback) {
    exchanges_.for_each(callback);
  }

 private:
  friend struct MissingRow;
  using Event = lifecycle::ExchangeLife::Event;
  using State = lifecycle::ExchangeLife::State;

  Exchange* live(base::Handle handle);
  void step(Exchange& exchange, Event event);
  // A mirror, or a witness.
  bool unattended(const Exchange& exchange) const;

  // exchanges.cc
  const wire::RequestHead& find_route(Exchange& exchange, const ClientConnection& client,
                                      const wire::RequestHead& head);
  Exchange& add(Front& front, base::Handle client, const SnapshotRef& snapshot);
  void choose(Exchange& exchange);
  void attach(Exchange& exchange, Back& back, base::Handle backend);
  Back& back_for(const routes::BackendModel& model, const EndpointState& endpoint, bool bytes_only);
  std::shared_ptr<const wire::ClientContext> tls_for(const Exchange& exchange) const;
  base::Slice proxy_header(const Exchange& exchange, routes::ProxyProtocol version);
  void detach_endpoint(Exchange& exchange);
  void retry_or_fail(Exchange& exchange, base::Cause cause, lifecycle::Delivery delivery);
  void fail(Exchange& exchange, Event event, base::Cause cause);
  bool response_has_begun(const Exchange& exchange) const;
  bool may_wait_half_closed(const Exchange& exchange) const;
  void answer(Exchange& exchange, base::Cause cause);
  void end(Exchange& exchange, base::Cause cause);
  void record(const Exchange& exchange, const ClientConnection& client, base::Cause cause);
  void log(const observe::ExchangeRecord& record);
  struct Patience {
    base::Duration limit{};
    base::Cause cause;
    base::Instant since{};
    base::Instant end() const { return since + limit; }
  };
  Patience patience(const Exchange& exchange) const;
  void arm_for_state(Exchange& exchange);
  // What the client may hold of the worker's buffers for this exchange, in each direction.
  std::size_t share(const Exchange& exchange) const {
    return core_.reactor.blocks().share() / exchange.front->sharing(exchange.client);
  }
  bool client_stuck(const Exchange& exchange) const {
    return exchange.front->unsent(exchange.client) > 0 && exchange.front->stuck(exchange.client, share(exchange));
  }
  bool backend_stuck(const Exchange& exchange) const {
    return exchange.backend && exchange.back->unsent(exchange.backend) > 0 &&
           exchange.back->stuck(exchange.backend, share(exchange));
  }

  // holding.cc
  void hold(Exchange& exchange);
  void leave_queue(const Exchange& exchange);
  void hold_expired(Exchange& exchange);
  BackendView& view_of(const Exchange& exchange);

  // stickiness.cc
  void note_bond(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  void note_source(Exchange& exchange, const base::Address& client);
  base::Handle named_endpoint(BackendView& view, const routes::StickyModel& sticky, const wire::Fields& fields);
  std::optional<std::size_t> bound_share(const Exchange& exchange, const wire::RequestHead& head);
  const wire::RequestHead& without_our_cookies(const Exchange& exchange, const wire::RequestHead& head,
                                               std::string& text);
  void give_cookie(Exchange& exchange);
  static lifecycle::ClientKey key_of(const Exchange& exchange);

  // policy_path.cc
  void prepare(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  void prepare_bytes(Exchange& exchange, const base::Address& client);
  bool decided(const Exchange& exchange) const;
  void refuse(Exchange& exchange, base::Cause cause);
  void apply_policy(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  void admit(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head);
  bool apply_cors(Exchange& exchange, const wire::RequestHead& head);
  std::optional<std::uint64_t> limit_hops(Exchange& exchange, const wire::RequestHead& head);
  const wire::RequestHead& with_forwards(const wire::RequestHead& head, std::uint64_t left, std::string& text);
  const routes::FieldEdits* choose_share(Exchange& exchange, const wire::RequestHead* head);
  void note_grpc_timeout(Exchange& exchange, const wire::RequestHead& head);
  std::uint64_t body_limit(const Exchange& exchange) const;
  bool write_head(Exchange& exchange, const ClientConnection& client, const wire::RequestHead& head,
                  const routes::FieldEdits* edits);
  void answer_here(Exchange& exchange);

  // leaving.cc
  base::Handle trial_for(Exchange& exchange, bool bound);
  bool could_serve(const Exchange& exchange, base::Handle but);
  void move_on(Exchange& exchange);
  void note_slow_connect(const Exchange& exchange);
  bool waits_for_answer(const Exchange& exchange) const {
    return exchange.life.is(State::awaiting) && !exchange.response_bytes;
  }
  bool may_move(const Exchange& exchange);
  enum class Leaves : bool { nothing, witness };
  void move_away(Exchange& exchange, Leaves leaves = Leaves::nothing);
  std::uint32_t move_away(std::span<const base::Handle> leaving);
  void note_given_up(const Exchange& exchange);
  void fail_trial(Exchange& exchange);
  void compare_next(base::Handle exchange, base::Handle silent, const lifecycle::TrialPlan& plan);

  // deadlines.cc
  struct ProgressLimits {
    base::Duration client_body, backend_body, tunnel_idle;
  };
  ProgressLimits progress_limits(const Exchange& exchange) const;
  base::Duration response_timeout(const Exchange& exchange) const;
  std::uint32_t retries(const Exchange& exchange) const;
  void begin_try(Exchange& exchange);
  void limit_try(Exchange& exchange);
  void end_try(Exchange& exchange);
  void end_trial(Exchange& exchange);
  void arm_for_deadline(Exchange& exchange);
  void begin_tunnel_age(Exchange& exchange);
  bool end_if_overdue(Exchange& exchange);
  bool has_place_for_status(const Exchange& exchange) const;
  void end_call(Exchange& exchange, base::Cause cause);

  // witnesses.cc
  bool leave_witness(Exchange& exchange);

  // mirrors.cc
  void choose_mirrors(Exchange& exchange, const wire::RequestHead& head);
  void copy_payload(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void send_mirrors(Exchange& exchange);
  void begin_mirror(const Exchange& original, std::uint32_t backend, const base::Chain& payload);
  void mirror_ended(base::Cause cause);

  // request_path.cc
  void send_request(Exchange& exchange);
  bool add_request_payload(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  static void forget_request(Exchange& exchange);
  void request_arrived(Exchange& exchange);
  void request_moved(Exchange& exchange);
  bool pump_request(Exchange& exchange);
  void keep_for_replay(Exchange& exchange);

  // response_path.cc
  void note_first_byte(Exchange& exchange);
  void note_comparison(Exchange& exchange);
  bool too_many_interim(Exchange& exchange, const wire::ResponseHead& head) const;
  const wire::ResponseHead* with_changes(Exchange& exchange, const wire::ResponseHead& received);
  void learn_from_answer(const Exchange& exchange, const wire::ResponseHead& head);
  bool may_compress(const Exchange& exchange);
  void begin_compression(Exchange& exchange);
  void end_compression(Exchange& exchange);
  static bool compresses(const Exchange& exchange) { return exchange.applied && exchange.applied->encoder; }
  void pass_payload(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void pass_coded(Exchange& exchange, std::string_view payload, wire::Encoder::After after);
  void pass_end(Exchange& exchange, std::string_view trailers);
  bool flush(Exchange& exchange);
  void response_moved(Exchange& exchange);
  bool pump_response(Exchange& exchange);
  void complete(Exchange& exchange);
  void cut_short(Exchange& exchange, base::Cause cause);

  // tunnel.cc
  void become_tunnel(Exchange& exchange, Event event);
  void tunnel_finished(Exchange& exchange, OwnerKind side);
  void close_tunnel(Exchange& exchange, base::Cause cause);
  void say_goodbye(Exchange& exchange);

  Core& core_;
  std::string path_text_;  // of a path that was spelled otherwise, while its head is looked at
  base::SlotMap<Exchange> exchanges_;
  Broken broken_;
  std::vector<base::Handle> dead_;
};

}  // namespace ebb::gate
