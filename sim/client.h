// A scripted client: sends its exchanges over one connection after another, in the manner that its script says, and
// checks every byte that comes back. Ends each exchange in the Ledger exactly once. Lives until the end of the run.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/content.h"
#include "sim/ledger.h"
#include "sim/line.h"
#include "sim/message.h"

namespace ebb::sim {

// How a client leaves before its time.
enum class Leave : std::uint8_t { never, by_close, by_reset, by_silence };

struct ClientScript {
  base::Address from;
  std::vector<std::uint64_t> exchanges;
  std::uint32_t depth = 1;  // requests under way at once (pipelining)
  int minor = 1;            // HTTP/1.minor
  std::uint32_t write_max = 65536;
  Duration write_gap{};
  std::uint32_t read_max = 65536;
  Duration read_gap{};
  Duration pause{};           // between an answer and the next request
  bool cookies = true;        // it sends back what it was given
  bool half_close = false;    // FIN behind the last request
  bool close_last = false;    // `Connection: close` on the last request
  bool never_leaves = false;  // keeps its connection when it wants nothing more, until the router ends it
  Leave leave = Leave::never;
  std::uint64_t leave_after = 0;  // bytes sent and received
  Duration idle_limit{};          // the router may close after so much quiet
};

class Client final {
 public:
  // `target` says where to connect now: a listener may have moved. While listeners change, it may
  // be refused.
  struct Surroundings {
    World& world;
    Network& network;
    Ledger& ledger;
    std::function<base::Address()> target;
    std::function<bool()> listeners_change;
    bool says_cause = false;                        // the router tells it with each answer of its own
    std::function<std::unique_ptr<Line>()> dial{};  // null: bare TCP to the target
  };

  Client(Surroundings surroundings, ClientScript script);

  void start();
  // The calm phase begins: whoever only pretends to be there goes, and nobody dawdles.
  void stop_misbehaving();
  bool done() const { return all_answered() && (!line_ || script_.never_leaves); }
  bool waits_for_nothing() const { return all_answered() && line_; }

 private:
  bool all_answered() const { return next_ == script_.exchanges.size() && waiting_.empty(); }
  void soon();
  void later(Duration delay);
  void act();
  void connect();
  void send_requests();
  void send_body(const Exchange& exchange);
  void send_eagerly(const Exchange& exchange);
  std::string request_text(Exchange& exchange, bool last) const;
  bool chunks(const Exchange& exchange) const;
  void write();
  void read();
  bool read_message();
  bool read_tunnel();
  void answer_begins();
  void note_endpoint(const Exchange& exchange);
  void check_body(const Exchange& exchange);
  void answer_complete();
  bool leaves_now();
  void leave();
  void connection_ended(bool reset);
  bool stream_ended();
  void ask_rest_again();
  void close();
  void forget();
  Exchange& current() { return *s_.ledger.find(waiting_.front()); }

  Surroundings s_;
  base::Rng rng_;
  ClientScript script_;
  std::unique_ptr<Line> line_;
  struct Cookie {
    std::string value;
    std::string endpoint;  // that gave it
  };
  std::map<std::uint32_t, Cookie> cookies_;  // by backend
  std::uint64_t connection_number_ = 0;
  bool scheduled_ = false;
  bool silent_ = false;                // pretends to be there
  std::size_t next_ = 0;               // of script_.exchanges, not yet asked
  std::deque<std::uint64_t> waiting_;  // asked on this connection, not yet answered
  ByteQueue out_;
  std::string held_back_;  // a body that waits for 100 (Continue)
  ByteQueue in_;
  MessageReader reader_;
  std::uint64_t body_read_ = 0;
  std::uint64_t moved_ = 0;    // bytes sent and received in all
  std::uint64_t answers_ = 0;  // on this connection
  bool opened_ = false;        // the handshake was completed
  bool finished_ = false;      // our FIN is queued
  bool last_answer_ = false;   // the router has said that it will close
  std::uint64_t eager_ = 0;    // bytes for the tunnel that were sent with the request
  bool tunnel_ = false;
  bool from_backend_ = false;  // the answer being read, else the router's own
  bool asked_alone_ = false;   // nothing may be pipelined behind the last request
  bool pausing_ = false;
  Instant write_next_{};
  Instant read_next_{};
  Instant quiet_since_{};
  Instant asked_at_{};
};

}  // namespace ebb::sim
