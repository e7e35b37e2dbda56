// One request and its response: the data of an exchange, in the parts that live and end together.
//
//   Exchange            who has the request            lifecycle/exchange.h
//    ├─ Request         the client's half              lifecycle/request_half.h    from the head to the last byte
//    ├─ Response        the endpoint's half            lifecycle/response_half.h   from the head to the last byte
//    ├─ Attempt         one endpoint that has it       lifecycle/attempt.h         a retry throws it away whole
//    └─ Tries           what attempts leave behind
//
// Owned by gate/exchanges. The parts of the gate change it on its way: gate/intake, attempts, request_path,
// response_path, tunnel. Exchanges::finish ends it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "gate/applied_policy.h"
#include "gate/back.h"
#include "gate/core.h"
#include "gate/front.h"
#include "lifecycle/attempt.h"
#include "lifecycle/evidence.h"
#include "lifecycle/exchange.h"
#include "lifecycle/request_half.h"
#include "lifecycle/response_half.h"
#include "lifecycle/stage.h"
#include "lifecycle/surprise.h"
#include "wire/websocket_frames.h"

namespace ebb::gate {

enum class Wants : std::uint8_t {
  response,
  upgrade,    // or a response, if the endpoint refuses
  websocket,  // the same, to that protocol
  bytes,      // a tunnel from the start: nothing is known of what it carries
};

struct Request {
  lifecycle::RequestHalf life;
  Wants wants = Wants::response;
  bool grpc = false;
  bool replayable = true;  // what was sent is still in `head` and `kept`
  wire::Method method = wire::Method::other;
  lifecycle::RequestKind kind = 0;
  wire::Framing framing = wire::Framing::none;  // of the body, as the head says
  wire::WrittenRequest head;
  base::Chain body;  // payload that waits for the endpoint
  base::Chain kept;  // payload that was sent, for a replay
  std::string trailers;
  std::string upgrade_offer;                  // the protocols that were asked for
  const routes::FieldEdits* edits = nullptr;  // of the route or its share, made on the head and the trailers
  std::uint64_t bytes = 0;                    // of the body, received

  using State = lifecycle::RequestHalfLife::State;
  bool whole() const { return !life.is(State::arriving) && !life.is(State::pumped); }
  bool upgrades() const { return wants == Wants::upgrade || wants == Wants::websocket; }
  bool repeatable() const { return wire::idempotent(method) && replayable; }
  // From its beginning, for another attempt.
  void rewind();
  // Of the head and the texts that go with it.
  std::size_t head_memory() const;
};

struct Response {
  lifecycle::ResponseHalf life;
  std::uint16_t status = 0;
  base::Chain out;                  // gathered for one send
  std::uint64_t sent = 0;           // payload given to the client
  std::uint64_t interim_bytes = 0;  // of 1xx heads before it, of all attempts
  std::uint64_t own_bytes = 0;      // of the body of an answer of our own
};

// A request that tries a silent endpoint.
struct Trial {
  lifecycle::TrialPlan plan;
  base::Instant until;  // then it has not answered
};

struct Attempt {
  lifecycle::AttemptMachine life;
  base::Handle endpoint;  // counted as active there
  Back* back = nullptr;
  base::Handle end;  // of `back`: connecting or lent; invalid once that is over
  bool reused = false;
  std::uint32_t place = 0;  // when it was sent, among the requests to its endpoint (Overtaking)
  base::Instant began{};
  base::Instant asked{};                          // when it was sent whole
  base::Instant heard{};                          // when a byte of the endpoint last came
  base::Instant deadline = base::Instant::max();  // by the route's limit for one attempt
  base::Instant move_on = base::Instant::max();   // from an endpoint that does not answer the connection attempt
  std::optional<Trial> trial;

  using State = lifecycle::AttemptLife::State;
  bool connecting() const { return life.is(State::connecting); }
  bool has_spoken() const { return heard != base::Instant{}; }
};

// An endpoint that did not answer the request: does another one, within the time of the trial?
struct Comparison {
  base::Handle silent;
  lifecycle::TrialPlan plan;
};

struct Tries {
  std::vector<base::Handle> tried;  // endpoints that are not asked again
  std::uint16_t count = 0;
  std::uint16_t unreached = 0;  // of them, those that found nobody: they do not count against a replay
  bool fresh_only = false;      // a pooled connection was stale: the next attempt opens one
  bool left_silence = false;    // it has left an endpoint that did not answer
  base::Cause last_failure = base::Cause::backend_empty;
  base::Handle last_endpoint;  // that it has left
  std::optional<Comparison> comparison;

  std::uint32_t counted() const { return std::uint32_t{count} - unreached; }
};

// In the queue of requests for which there is no endpoint (gate/held_requests).
struct Hold {
  base::Duration waited{};    // before it was last woken
  base::Instant since{};      // once it had to wait
  std::uint64_t version = 0;  // of the endpoints, when it found none
};

// For the record.
struct Account {
  base::Instant started{};
  base::WallTime started_wall{};
  base::Instant handed_over{};  // to a connection of the last attempt that had one
  base::Instant first_byte{};
  bool reused = false;  // that connection had served before
  std::string text;     // method, authority, target, referer, user agent; filled only for the access log
  std::uint32_t text_ends[5] = {};
};

struct WebsocketWays {
  wire::WebsocketFrames to_client;
  wire::WebsocketFrames to_backend;
};

struct Exchange {
  using State = lifecycle::ExchangeLife::State;

  base::Handle self;
  lifecycle::ExchangeMachine life;
  base::Timer timer;                              // for the earliest of its deadlines (gate/deadlines)
  base::Instant moved{};                          // when something of it last did
  base::Instant deadline = base::Instant::max();  // of the whole, then of the tunnel
  Front* front = nullptr;
  base::Handle client;  // end of `front`

  SnapshotRef snapshot;
  const routes::Route* route = nullptr;    // null: none matched, or a listener of bytes
  std::unique_ptr<AppliedPolicy> applied;  // null: the route asks for nothing
  std::optional<base::Cause> refusal;      // decided with the head, carried out by Intake::start
  std::uint32_t backend_index = routes::no_backend;
  std::optional<std::uint64_t> hash_key;  // of a backend that balances by one

  Request request;
  Response response;
  std::optional<Attempt> attempt;
  Tries tries;
  Hold hold;
  std::unique_ptr<WebsocketWays> websocket;  // null: the tunnel, if it is one, carries something else
  Account account;

  AppliedPolicy& apply() {
    if (applied == nullptr) applied = std::make_unique<AppliedPolicy>();
    return *applied;
  }
  bool answered_here() const { return !refusal && applied != nullptr && applied->status != 0; }
  // Refused, or answered here: nothing is sent to an endpoint.
  bool decided() const { return refusal || answered_here(); }
  // The first reason counts.
  void refuse(base::Cause cause) {
    if (!refusal) refusal = cause;
  }
  const routes::Backend& backend() const { return snapshot->snapshot().backends()[backend_index]; }
  base::Handle view() const { return snapshot->views[backend_index]; }  // of that backend
  const routes::Policy* policy() const { return route == nullptr ? nullptr : route->policy.get(); }
  lifecycle::Stage stage() const {
    return lifecycle::stage(life.state(), attempt ? attempt->life.state() : Attempt::State::chosen);
  }
  base::Handle endpoint() const { return attempt ? attempt->endpoint : base::Handle{}; }
  // The endpoint has all of it and has said nothing.
  bool waits_for_answer() const { return stage() == lifecycle::Stage::awaiting && !attempt->has_spoken(); }
  // The ways of the request and of the response, while an attempt has an end.
  Way to_backend() const { return {*front, client, *attempt->back, attempt->end}; }
  Way to_client() const { return {*attempt->back, attempt->end, *front, client}; }
  // Of the head and the texts that go with it; of all that waits in it or for its endpoint.
  std::size_t head_memory() const { return request.head_memory() + account.text.capacity(); }
  std::size_t memory() const;
  bool mirrored() const { return applied != nullptr && !applied->mirrors.empty(); }  // a copy is still to be sent
  bool compresses() const { return applied != nullptr && applied->encoder != nullptr; }
};

}  // namespace ebb::gate
