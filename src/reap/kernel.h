// The reaper's reads and actions on this machine. Tests use a fake.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "census/conntrack_reader.h"
#include "census/owners.h"
#include "census/sample.h"
#include "census/spaces.h"

namespace ebb::reap {

// The current state of a socket, and its entry of connection tracking.
struct Fresh {
  census::Socket socket;
  std::optional<census::Tracked> entry;
};

class Kernel {
 public:
  virtual ~Kernel() = default;

  using Wanted = std::function<bool(std::string_view netns)>;
  // Sockets that programs wait on, in the wanted namespaces; without owners and options.
  virtual std::expected<census::Sample, std::string> look(const Wanted& wanted) = 0;
  // As look(), but only into namespaces where TCP timers have fired since the last look, or connections had stalled
  // then.
  virtual std::expected<census::Sample, std::string> glance(const Wanted& wanted) = 0;
  virtual census::Owners owners() = 0;
  virtual std::string cgroup_of(std::uint32_t pid) = 0;  // its path; "": unknown

  // For sockets of the last look. The errors are errno; ENOENT: exactly that socket is gone.
  virtual std::expected<Fresh, int> look_again(const census::Socket& socket) = 0;
  virtual std::expected<void, int> destroy(const census::Socket& socket) = 0;
  // True: the entry existed and is deleted.
  virtual bool forget(const Fresh& fresh) = 0;

  // Ends the look: open descriptors would keep other namespaces from ending.
  virtual void leave() = 0;
};

class LiveKernel final : public Kernel {
 public:
  explicit LiveKernel(const base::Clock& clock) : clock_(clock) {}

  std::expected<census::Sample, std::string> look(const Wanted& wanted) override;
  std::expected<census::Sample, std::string> glance(const Wanted& wanted) override;
  census::Owners owners() override { return census::walk_processes(); }
  std::string cgroup_of(std::uint32_t pid) override;
  std::expected<Fresh, int> look_again(const census::Socket& socket) override;
  std::expected<void, int> destroy(const census::Socket& socket) override;
  bool forget(const Fresh& fresh) override;
  void leave() override;

 private:
  // The known facts of a namespace.
  struct Known {
    std::optional<census::Limits> limits;
    base::Instant limits_read_at;
    std::optional<std::uint64_t> time_outs;  // at the last look
    bool stalled = false;                    // a connection, at the last look
    std::uint64_t listed = 0;                // the last look that found the namespace
  };
  static constexpr base::Duration limits_age_max = std::chrono::minutes{1};

  enum class Depth : std::uint8_t { all, stirred };
  std::expected<census::Sample, std::string> take(const Wanted& wanted, Depth depth);
  void visit(const census::SpaceName& space, Depth depth, census::Sample& sample);  // from inside
  void dump(const census::SpaceName& space, Known& known, census::Sample& sample);
  void translate_by_node(census::Sample& sample);
  // For a namespace of the last look; null if it cannot be entered any more.
  census::SpaceDoor* door_of(std::uint32_t space);
  // The tables that may track a socket of that namespace: its own, then the node's.
  std::vector<census::NetlinkSocket*> tracking_of(std::uint32_t space);

  const base::Clock& clock_;
  std::unordered_map<std::uint64_t, Known> known_;  // by SpaceName::id
  std::uint64_t looks_ = 0;
  std::vector<census::SpaceName> visited_;                      // by Socket::space
  std::unordered_map<std::uint32_t, census::SpaceDoor> doors_;  // likewise; of this look
  std::optional<census::SpaceDoor> home_;                       // of our own namespace
  std::unordered_map<std::uint32_t, std::string> cgroups_;      // by process; of this look
};

}  // namespace ebb::reap
