// The truth about every exchange of a run: what the client asked, what the backend was told to do, what each of them
// saw. Clients and backends write into it; it judges each entry when it ends. Owned by the Scenario.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sim/message.h"
#include "sim/world.h"

namespace ebb::sim {

// What a backend does to an exchange instead of answering it whole.
enum class Strike : std::uint8_t {
  none,
  close_before_head,
  reset_before_head,
  stall_before_head,
  garbage_head,
  cut_in_head,  // FIN in the middle of the response's head
  cut_in_body,  // FIN before the body is complete
  reset_in_body,
  stall_in_body,
};
const char* name(Strike strike);

struct ResponsePlan {
  int status = 200;
  BodyKind body = BodyKind::length;
  std::uint64_t bytes = 0;
  std::size_t chunk = 1000;
  bool continue_first = false;  // 100 before reading the body
  bool hints_first = false;     // 103
  bool early = false;           // answers before the request's body was read
  bool close_after = false;
  Duration think{};
  Duration pause{};  // between the two halves of a body, or before a tunnel says anything
  Strike strike = Strike::none;
  std::uint32_t strikes = 1;  // so many first attempts are struck

  // Some of these together may look like an endpoint that answers nobody (lifecycle/evidence.h). They may keep new work
  // away from it for a while, and nothing else.
  bool slow() const { return think > milliseconds{900}; }
};

enum class Outcome : std::uint8_t {
  pending,
  answered,   // by the backend, whole
  refused,    // by the router itself, whole
  broken,     // the connection ended before the answer did
  abandoned,  // by the client, on purpose
};
const char* name(Outcome outcome);

// What the router owes a request.
enum class Due : std::uint8_t {
  service,
  refusal,       // its head is malformed: no backend may see it
  late_refusal,  // its body is malformed or too large: no backend may see it whole
};

struct Exchange {
  std::uint64_t id = 0;
  std::uint32_t backend = 0;  // index of the backend that must get it
  std::string method = "GET";
  const char* segment = "x";      // the first of its path
  const char* protocol = "echo";  // that an upgrade asks for
  bool idempotent = true;
  bool upgrade = false;
  Due due = Due::service;
  BodyKind request_body = BodyKind::none;
  std::uint64_t request_bytes = 0;
  ResponsePlan plan;
  Instant sent_at{};
  Instant ended_at{};
  std::string bound_to;     // the endpoint that its cookie names, "": none
  std::uint32_t asked = 0;  // a client asks again if its idle connection was being closed

  std::string endpoint;           // that read its head last
  bool answer_begun = false;      // there
  std::uint32_t refusals = 0;     // by endpoints that had done nothing about it, and said so
  std::uint32_t asked_again = 0;  // because the router had said that
  std::uint32_t attempts = 0;     // complete heads that backends have read
  std::uint32_t executions = 0;   // complete requests that backends have read
  // Somebody did something that may rightly cost this exchange its answer; a literal that says what.
  const char* excuse = nullptr;
  Outcome outcome = Outcome::pending;
  int status = 0;
  std::string cause;  // as the router says, if it refused
};

class Ledger {
 public:
  static constexpr std::uint64_t replay_bytes_max = 65536;  // of a request's body, as the router keeps it

  explicit Ledger(World& world) : world_(world) {}

  // Of the copies that a backend gets as a mirror. What befalls them there is booked apart, so that it excuses nothing
  // of the exchange that was copied. Lives as long as this one.
  Ledger& mirrors(std::uint32_t backend);
  // Copies are answered as they should be.
  void end_strikes() { strikes_ = false; }
  // The backend gets copies of its own requests, and cannot tell the ones from the others.
  void mirrors_itself(std::uint32_t backend) { mirrors_itself_.insert(backend); }

  // How often a backend's requests may be tried again.
  void set_retries(std::uint32_t backend, std::uint32_t retries);

  Exchange& add(Exchange exchange);
  Exchange* find(std::uint64_t id);
  void excuse(std::uint64_t id, const char* why);
  // While set, whatever is pending or comes new is excused: the path itself is ill.
  void excuse_all(const char* why);
  bool excusing_all() const { return excuse_all_ != nullptr; }
  // A request that must not, or cannot, be asked again somewhere else: its method forbids it (RFC 9110 9.2.2), it is
  // too long to be kept, or some of its answer has come.
  static bool repeatable(const Exchange& exchange);
  void excuse_unrepeatable(std::uint64_t id, const char* why);
  // What an endpoint has in hand when something befalls it: all of it, or what cannot go elsewhere any more.
  void excuse_all_at(const std::string& endpoint, const char* why);
  void excuse_begun_at(const std::string& endpoint, const char* why);
  // What cannot be repeated and is on its way to some endpoint of the backend that has not read its head.
  void excuse_unread(std::uint32_t backend, const char* why);
  // From now on, until it ends, some endpoint of the backend is ill in a way that shows to no request by itself: it may
  // cost those that cannot be repeated. Of an endpoint that reads what comes it is known which ones those are.
  void begin_trouble(std::uint32_t backend, const char* why, std::string endpoint = {});
  void end_trouble(std::uint32_t backend);
  // Something has ended what an endpoint of the backend had in hand, or will.
  void fell(std::uint32_t backend, const std::string& endpoint) { falls_.push_back({backend, endpoint, world_.now()}); }
  // An endpoint of the backend refuses by a GOAWAY what is on its way to it. It never looks at that.
  void goes_away(std::uint32_t backend) { goaways_.push_back({backend, world_.now()}); }
  // So many connections of the backend were closed with a request in them that nobody could name.
  void swallowed(std::uint32_t backend, std::size_t count);

  // Some endpoint of the backend has failed in any way at all, ended, or could not be reached. All others are well,
  // however slow they are: nothing may be inferred about them that costs a request.
  void unwell(std::uint32_t backend) { unwell_.insert(backend); }
  bool well(std::uint32_t backend) const { return !excusing_all() && !unwell_.contains(backend); }

  // Something has happened to the endpoint that may cost it its sticky clients.
  void disturb(const std::string& endpoint) { disturbed_.insert(endpoint); }
  // An answer has come from this endpoint, and the client was (not) told to remember it.
  void served(const Exchange& exchange, const std::string& endpoint, bool new_cookie);

  // Backends report; false if the backend should not go on.
  void head_arrived(Exchange& exchange, const std::string& endpoint);
  void executed(Exchange& exchange);
  void refused(std::uint64_t id);
  void struck(Exchange& exchange, Strike strike, bool connection_reused);
  // Clients report.
  void end(std::uint64_t id, Outcome outcome, int status);

  std::uint64_t pending() const { return pending_; }
  std::uint64_t count(Outcome outcome) const { return counts_[static_cast<std::size_t>(outcome)]; }
  const std::deque<Exchange>& all() const { return exchanges_; }

 private:
  Exchange* find_copy(std::uint64_t id);
  struct Trouble {
    std::uint32_t backend;
    const char* why;
    std::string endpoint;  // empty: nobody knows what was on its way there
    Instant since;
    Instant until;
  };
  struct Swallowed {
    std::uint32_t backend;
    Instant when;
  };
  struct Goaway {
    std::uint32_t backend;
    Instant when;
  };
  struct Fall {
    std::uint32_t backend;
    std::string endpoint;
    Instant when;
  };
  void judge_refusal(const Exchange& exchange);
  void judge_inference(const Exchange& exchange);
  bool fell_one_after_the_other(const Exchange& exchange) const;
  bool met_a_goaway(const Exchange& exchange) const;
  bool forgiven(const Exchange& exchange);
  std::string describe(const Exchange& exchange) const;

  World& world_;
  Ledger* original_ = nullptr;        // of mirrors: the exchanges that they copy
  std::uint32_t mirror_backend_ = 0;  // of mirrors: where they go
  bool strikes_ = true;
  std::unique_ptr<Ledger> mirrors_;
  std::map<std::uint64_t, Exchange> copies_;
  std::set<std::uint32_t> mirrors_itself_;  // backends
  std::vector<std::uint32_t> retries_;      // by backend
  std::deque<Exchange> exchanges_;
  std::vector<Trouble> troubles_;
  std::vector<Swallowed> swallowed_;
  std::vector<Fall> falls_;
  std::vector<Goaway> goaways_;
  std::set<std::string> disturbed_;  // endpoints
  std::set<std::uint32_t> unwell_;   // backends
  std::uint64_t pending_ = 0;
  std::uint64_t counts_[5] = {};
  const char* excuse_all_ = nullptr;
};

}  // namespace ebb::sim
