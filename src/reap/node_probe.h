// Asks whether a node is there: a TCP connection to a port that has been served there, from the namespace whose
// connections are silent, so that it takes the same way. A refusal is an answer too. Nothing is sent over it.
#pragma once

#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "reactor/descriptor.h"
#include "reap/suspicion.h"

namespace ebb::reap {

class NodeProbes {
 public:
  // A SYN and its first repetition, which comes after a second.
  static constexpr base::Duration patience = std::chrono::milliseconds{1500};

  struct Finished {
    std::string node;
    ProbeResult result;
  };

  // `space_path` is a file of the namespace; "": the one we are in.
  void start(base::Instant now, std::string node, const base::Address& target, const std::string& space_path);
  // Those that have ended since the last call.
  std::vector<Finished> take_finished(base::Instant now);
  bool empty() const { return running_.empty() && finished_.empty(); }

 private:
  struct Probe {
    std::string node;
    reactor::Descriptor socket;
    base::Instant deadline;
  };
  std::vector<Probe> running_;
  std::vector<Finished> finished_;
};

// What an error of connect() says of the node.
ProbeResult judge_connect(int error);

}  // namespace ebb::reap
