// The request's way from the client to the endpoint: what has come of it goes on, with back-pressure, and is kept for a
// replay while that is allowed. A long body between plain sockets is moved by the kernel.
//
// Before: gate/attempts (there is a connection), gate/clients and gate/h2_clients (bytes have come).
// Next: gate/response_path.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class RequestPath {
 public:
  explicit RequestPath(Core& core) : core_(core) {}

  // To the endpoint, what is there. `whole`: of a new attempt, so the head comes first.
  enum class Part : bool { rest, whole };
  void send(Exchange& exchange, Part part);

  // From the client. on_moved() after the last payload of a batch, or on_whole() after the last of all. False: it takes
  // no more.
  bool on_payload(base::Handle exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void on_moved(base::Handle exchange);
  void on_whole(base::Handle exchange, std::string_view trailers);
  void on_broken(base::Handle exchange);
  // The kernel has moved payload. False: of an exchange before this one.
  bool on_pumped(base::Handle exchange, std::uint64_t moved);
  // The endpoint's connection has taken what waited for it.
  void on_backend_drained(base::Handle exchange);

  // Requests that were sent can then not be repeated.
  void drop_replay_copies();

 private:
  void go_on(Exchange& exchange);
  void sent(Exchange& exchange);
  bool waits_too_much(const Exchange& exchange) const;
  void keep_for_replay(Exchange& exchange);
  bool pump(Exchange& exchange);

  Core& core_;
};

}  // namespace ebb::gate
