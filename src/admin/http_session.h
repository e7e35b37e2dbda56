// The API on one connection of the admin server, one request at a time; serve/server provides sockets and time.
//
//   reading ──▶ working ──▶ answered ──▶ reading ...      or, behind the last answer, over
//      └─ refused ─────────────▲
//
// `answered`: the answer has not left yet; the session reads no further request until then.
#pragma once

#include <memory>
#include <string>

#include "admin/access.h"
#include "admin/router.h"
#include "serve/server.h"
#include "wire/h1_head.h"

namespace ebb::admin {

struct Limits {
  std::size_t connections = 1024;           // per listener
  std::size_t connections_per_peer = 256;   // of one address, per listener
  std::size_t connections_for_health = 32;  // beyond `connections`, for /healthz and /readyz only
  std::size_t body_bytes = 65536;
  wire::HeadLimits head = {.head_bytes = 8192, .target_bytes = 2048, .fields = 64};
  base::Duration request = std::chrono::seconds{10};  // from accept, or the last answer, to the end of a request
  base::Duration serve = std::chrono::seconds{90};    // from a request to its answer: some wait for a drain
  base::Duration answer = std::chrono::seconds{10};   // until an answer has reached the kernel
  base::Duration linger = std::chrono::seconds{1};    // for the client to read the last answer
};

// Shared by all connections of a listener, on the server's thread: heads are large.
struct HttpDesk {
  const Access access;
  Router& router;
  const Limits& limits;
  reactor::Reactor& reactor;
  wire::RequestHead head{};  // of the current request
  wire::ResponseHead response{};
};

class HttpSession final : public serve::Protocol {
 public:
  HttpSession(HttpDesk& desk, const serve::Arrival& arrival)
      : desk_(desk), peer_(arrival.peer), in_reserve_(arrival.in_reserve), way_back_(arrival.way_back) {}

  void take(base::Slice bytes, base::Instant now, base::Chain& out) override;
  void refill(base::Chain& out) override;
  bool finish_input(base::Chain& out) override;
  void give_up(base::Chain& out) override;
  void leave(base::Chain& out) override;
  Waiting waiting() const override;
  std::uint64_t turn() const override { return exchange_; }
  bool listens(bool) const override { return state_ == State::reading; }
  std::size_t kept_input() const override { return input_.size(); }

 private:
  enum class State : std::uint8_t { reading, working, answered, over };

  void read_request(base::Chain& out);
  bool await_body(std::size_t head_bytes, base::Chain& out);
  void serve(std::size_t head_bytes);
  Respond respond();
  void refuse(int status, std::string_view words, base::Chain& out);
  void answer(const Answer& answer, base::Chain& out);

  HttpDesk& desk_;
  const base::Address peer_;
  const bool in_reserve_;
  const serve::WayBack way_back_;
  State state_ = State::reading;
  std::string input_;           // an incomplete request, and later requests
  std::size_t awaited_ = 0;     // parse again only with this much input
  std::uint32_t exchange_ = 0;  // number of the current request: late answers to others are dropped
  bool keep_alive_ = true;
  bool head_only_ = false;
  std::uint8_t minor_ = 1;
};

}  // namespace ebb::admin
