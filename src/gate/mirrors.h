// Copies of requests to other backends: never waited for, never answered, and left out where they would cost too much.
// A mirror is an exchange of its own without a client, begun when the request that it copies is whole. Upgrades are not
// copied.
//
// Before: gate/intake (choose), gate/request_path (copy, send). Next: gate/attempts, for the copy.
#pragma once

#include "gate/exchange.h"
#include "gate/nobody.h"

namespace ebb::gate {

class Mirrors final : public Nobody {
 public:
  explicit Mirrors(Core& core) : core_(core) {}

  // The backends that are to get a copy.
  void choose(Exchange& exchange, const wire::RequestHead& head);
  void copy(Exchange& exchange, const base::Slice& source, std::uint32_t at, std::uint32_t size);
  // Of a mirrored exchange, once its request is whole, so that a mirror never waits for a client, nor a client for a
  // mirror.
  void send(Exchange& exchange);
  void ended(base::Cause cause);
  void end_all(base::Cause cause);
  std::uint32_t running() const { return running_; }

 private:
  void begin(const Exchange& original, std::uint32_t backend, const base::Chain& payload);

  Core& core_;
  std::uint32_t running_ = 0;
};

}  // namespace ebb::gate
