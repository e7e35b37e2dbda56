// The client's half of a mirror: a copy of a request to another backend whose answer nobody waits for. A mirror is an
// exchange of its own, begun when the request that it copies is whole. Upgrades are not copied.
#pragma once

#include "gate/nobody.h"

namespace ebb::gate {

class Mirrors final : public Nobody {
 public:
  // A request with a larger body is not copied.
  static constexpr std::size_t body_bytes_max = std::size_t{64} << 10;
  // At a time, per worker: a mirror that hangs must not let copies pile up.
  static constexpr std::uint32_t running_max = 256;

  bool has_room() const { return running_ < running_max; }
  void begun() { running_ += 1; }
  void ended() { running_ -= 1; }

 private:
  std::uint32_t running_ = 0;
};

}  // namespace ebb::gate
