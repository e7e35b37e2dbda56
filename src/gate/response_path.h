// The answer's way from the endpoint to the client: heads (1xx too), payload, the honest end, with back-pressure. A
// long body between plain sockets is moved by the kernel.
//
// Before: gate/backends and gate/h2_backends, which read the answer. Next: Exchanges::finish; or gate/tunnel after 101.
#pragma once

#include "gate/exchange.h"

namespace ebb::gate {

class ResponsePath {
 public:
  explicit ResponsePath(Core& core) : core_(core) {}

  // From the endpoint. on_moved() after the last of a batch that is not the end.
  void on_heard(base::Handle exchange);  // before all that came with one receive
  void on_head(base::Handle exchange, const wire::ResponseHead& head);
  void on_payload(base::Handle exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void on_moved(base::Handle exchange);
  void on_whole(base::Handle exchange, std::string_view trailers);
  // The kernel has moved payload. False: of an exchange before this one.
  bool on_pumped(base::Handle exchange, std::uint64_t moved);
  // The client has taken what waited for it.
  void on_client_drained(base::Handle exchange);

  // False: the exchange has ended meanwhile, since sending may find that the client's stream, or its connection, is
  // over.
  bool flush(Exchange& exchange);

 private:
  const wire::ResponseHead* with_changes(Exchange& exchange, const wire::ResponseHead& received);
  bool too_many_interim(Exchange& exchange, const wire::ResponseHead& head) const;
  void learn(const Exchange& exchange, const wire::ResponseHead& head);
  void pass(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  void pass_coded(Exchange& exchange, std::string_view payload, wire::Encoder::After after);
  void go_on(Exchange& exchange);
  bool pump(Exchange& exchange);

  Core& core_;
};

}  // namespace ebb::gate
