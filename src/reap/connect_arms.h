// Programs in the kernel that arm sockets at connect(). They live as long as this object, or its process.
#pragma once

#include <array>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "reactor/descriptor.h"
#include "reap/arm_program.h"
#include "reap/connect_scopes.h"

namespace ebb::reap {

class ConnectArms {
 public:
  static constexpr std::size_t scopes_max = 64;  // the kernel's limit of programs per group and hook

  // Needs CAP_BPF and CAP_NET_ADMIN, once. All scopes or none.
  static std::expected<ConnectArms, std::string> attach(std::span<const ConnectScope> scopes, const ArmLimits& limits);

  // New sockets get only their programs' options from now on. The counts stay.
  void detach() { links_.clear(); }
  bool attached() const { return !links_.empty(); }

  std::uint64_t count(ArmCounter counter) const;

 private:
  reactor::Descriptor numbers_;
  std::vector<reactor::Descriptor> links_;  // hold the programs
};

}  // namespace ebb::reap
