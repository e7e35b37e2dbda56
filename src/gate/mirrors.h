// The client's half of a mirror: a copy of a request to another backend whose answer nobody waits for. There is no
// client behind it; what the endpoint says is taken and dropped. A mirror is an exchange
// of its own, begun when the request that it copies is whole.
#pragma once

#include "gate/front.h"

namespace ebb::gate {

class Mirrors final : public Front {
 public:
  // A request with a larger body is not copied.
  static constexpr std::size_t body_bytes_max = std::size_t{64} << 10;
  // At a time, per worker: a mirror that hangs must not let copies pile up.
  static constexpr std::uint32_t running_max = 256;

  bool has_room() const { return running_ < running_max; }
  void begun() { running_ += 1; }
  void ended() { running_ -= 1; }

  ClientConnection* connection(base::Handle) override { return nullptr; }
  void add_head(base::Handle, const wire::ResponseHead&, bool, base::Chain&) override {}
  void add_payload(base::Handle, const base::Slice&, std::uint32_t, std::uint32_t, base::Chain&) override {}
  void add_end(base::Handle, std::string_view, base::Chain&) override {}
  void flush(base::Handle, base::Chain&&) override {}
  std::size_t answer(base::Handle, const OwnAnswer&) override { return 0; }
  std::size_t unsent(base::Handle) override { return 0; }
  base::Backlog backlog(base::Handle) override { return {}; }
  bool stuck(base::Handle, std::size_t) override { return false; }
  std::size_t sharing(base::Handle) override { return 1; }
  reactor::Receive bulk() const override { return reactor::Receive::piecewise; }
  void receive(base::Handle, reactor::Receive) override {}
  void release(base::Handle, bool) override {}
  void cut(base::Handle, base::Cause) override {}
  // Upgrades are not copied.
  void become_tunnel(base::Handle) override {}
  base::Chain early_bytes(base::Handle) override { return {}; }
  void finish(base::Handle) override {}
  bool finished(base::Handle) override { return true; }
  void close_tunnel(base::Handle, base::Cause) override {}
  reactor::SocketId bare_socket(base::Handle) override { return {}; }

 private:
  std::uint32_t running_ = 0;
};

}  // namespace ebb::gate
