// A client's half with nobody behind it: what the endpoint says is taken and dropped.
#pragma once

#include "gate/front.h"

namespace ebb::gate {

class Nobody : public Front {
 public:
  ClientConnection* connection(base::Handle) final { return nullptr; }
  bool has_client() const final { return false; }
  void add_head(base::Handle, const wire::ResponseHead&, bool, base::Chain&) final {}
  void add_payload(base::Handle, const base::Slice&, std::uint32_t, std::uint32_t, base::Chain&) final {}
  void send_end(base::Handle, std::string_view, base::Chain&&) final {}
  void flush(base::Handle, base::Chain&&) final {}
  std::size_t answer(base::Handle, const OwnAnswer&) final { return 0; }
  std::size_t unsent(base::Handle) final { return 0; }
  base::Backlog backlog(base::Handle) final { return {}; }
  bool stuck(base::Handle, std::size_t) final { return false; }
  std::size_t sharing(base::Handle) final { return 1; }
  std::uint64_t body_left(base::Handle) final { return 0; }
  bool takes_trailers(base::Handle) final { return false; }
  bool success_opens_tunnel() const final { return false; }
  reactor::Receive bulk() const final { return reactor::Receive::piecewise; }
  void receive(base::Handle, reactor::Receive) final {}
  void release(base::Handle, bool) final {}
  void cut(base::Handle, base::Cause) final {}
  void become_tunnel(base::Handle) final {}
  base::Chain early_bytes(base::Handle) final { return {}; }
  void finish(base::Handle) final {}
  bool finished(base::Handle) final { return true; }
  void close_tunnel(base::Handle, base::Cause) final {}
  reactor::SocketId bare_socket(base::Handle) final { return {}; }
};

}  // namespace ebb::gate
