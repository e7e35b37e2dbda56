// Watches the nodes that this machine's programs talk to: collects evidence from each look, knocks, and reports. Used
// on the thread that looks; nodes_json() and write_metrics() on any thread.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "observe/event_log.h"
#include "observe/metric_writer.h"
#include "reap/node_knock.h"
#include "reap/suspicion.h"
#include "reap/truth.h"

namespace ebb::reap {

class NodeWatch {
 public:
  NodeWatch(const base::Clock& clock, observe::EventLog& events) : clock_(clock), events_(events) {}

  // Learns which endpoint is on which node, if stated.
  void know(const Truth& truth);
  void forget();
  // `began`: the time before the sample was taken.
  void look(base::Instant began, const census::Sample& sample);
  // Whether a full look should follow a glance: it may find a silent node, or already follows one.
  bool wants_look(const census::Sample& glanced) const;
  // Whether the next look should be soon.
  bool hurries() const { return suspicion_.hurries(); }
  // Call between looks when knocks are due. True: a node was reported, and a look should follow.
  bool tend_knocks();
  std::optional<base::Instant> knocks_due() const { return knocks_.due(); }

  // Everything sent there goes unanswered, and a knock has failed.
  bool is_reported(const base::Address& end) const;

  std::string nodes_json() const;
  void write_metrics(observe::MetricWriter& writer) const;

 private:
  struct Shown {
    std::string node;
    std::string_view state;
    std::uint32_t sockets = 0;
    std::uint32_t stalled = 0;
    base::WallTime since{};
    std::string knocked;
  };
  struct Published {
    std::vector<Shown> nodes;
    std::uint64_t reported_total = 0;
    std::uint64_t left_out_total = 0;
  };
  struct Hash {
    std::size_t operator()(const base::Address& address) const { return address.hash(); }
  };

  std::string node_of(const base::Address& host) const;
  void tell(const Suspicion::Change& change);
  void publish();

  const base::Clock& clock_;
  observe::EventLog& events_;
  std::unordered_map<base::Address, std::string, Hash> node_names_;  // port 0
  Suspicion suspicion_;
  NodeKnocks knocks_;

  mutable std::mutex mutex_;
  Published published_;  // guarded
};

}  // namespace ebb::reap
