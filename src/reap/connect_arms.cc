#include "reap/connect_arms.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "reap/bpf_kernel.h"

namespace ebb::reap {
namespace {

// The mount point of control groups version 2; "" if not mounted. A hybrid system has it beside the others.
std::string cgroup_root() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string device;
    std::string folder;
    std::string type;
    if (words >> device >> folder >> type && type == "cgroup2") return folder;
  }
  return "";
}

}  // namespace

std::expected<ConnectArms, std::string> ConnectArms::attach(std::span<const ConnectScope> scopes,
                                                            const ArmLimits& limits) {
  if (scopes.size() > scopes_max) {
    return std::unexpected(fmt::format("{} control groups are named, {} can be armed", scopes.size(), scopes_max));
  }
  const std::string root = cgroup_root();
  if (root.empty()) return std::unexpected("control groups of version 2 are not mounted");
  ConnectArms arms;
  auto numbers = make_bpf_numbers(arm_counters);
  if (!numbers) return std::unexpected(numbers.error());
  arms.numbers_ = std::move(*numbers);
  for (const ConnectScope& scope : scopes) {
    const auto program = load_sock_ops(arm_program(limits, scope.ports, arms.numbers_.get()));
    if (!program) return std::unexpected(program.error());
    auto link = attach_sock_ops(program->get(), root + scope.cgroup);
    if (!link) return std::unexpected(link.error());
    arms.links_.push_back(std::move(*link));
  }
  return arms;
}

std::uint64_t ConnectArms::count(ArmCounter counter) const {
  std::array<std::uint64_t, arm_counters> numbers{};
  if (!read_bpf_numbers(numbers_.get(), numbers)) return 0;
  return numbers[static_cast<std::size_t>(counter)];
}

}  // namespace ebb::reap
