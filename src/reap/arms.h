// Sets the policy's time-outs on sockets of unchanged programs. BPF programs do so at connect(); a sweep over each look
// does so for open sockets. New sockets are no longer armed when this object is gone; armed sockets stay armed.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "observe/event_log.h"
#include "observe/metric_writer.h"
#include "reap/connect_arms.h"
#include "reap/open_arms.h"
#include "reap/policy.h"

namespace ebb::reap {

class Arms {
 public:
  explicit Arms(observe::EventLog& events) : events_(events) {}

  // Call while the process may load programs; they keep their limits until the process ends. Attaches nothing if the
  // policy does not arm, or does not act.
  void attach(const Policy& policy);

  // A policy that does not arm, or does not act, detaches the programs permanently.
  void set_policy(const Policy& policy);
  // Whether a sweep should follow a glance: a socket has stalled and may need a limit, or is limited and may have
  // recovered.
  bool wants_sweep(const census::Sample& glanced) const;
  void sweep(const census::Sample& sample, const OpenArms::FindOwners& find_owners, const OpenArms::Allows& allows);

  void write_metrics(observe::MetricWriter& writer) const;  // any thread

 private:
  void tell(const ArmedProcess& each);

  observe::EventLog& events_;
  std::optional<ConnectArms> at_connect_;  // set only by attach(): threads that write metrics read its counts
  std::optional<OpenArms> open_;
  mutable std::mutex mutex_;
  ArmCounts totals_;  // of open sockets; guarded, as are the members below
  std::uint64_t stalls_limited_ = 0;
};

}  // namespace ebb::reap
