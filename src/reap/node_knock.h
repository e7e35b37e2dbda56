// Tests whether a node is alive: opens a TCP connection to a port that was served there, from the namespace whose
// connections are silent, so that it takes the same path. A refusal is an answer too. Sends no data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "reactor/descriptor.h"
#include "reap/knock_series.h"

namespace ebb::reap {

class NodeKnocks {
 public:
  struct Finished {
    std::string node;
    KnockResult result;
  };

  // `space_path` is a file of the namespace; "": our own.
  void start(base::Instant now, std::string node, const base::Address& target, const std::string& space_path,
             const KnockTimes& times);
  // Sends the attempts that are due; returns the knocks that ended since the last call.
  std::vector<Finished> tend(base::Instant now);
  // When to call tend() next; empty: no knock is running.
  std::optional<base::Instant> due() const;

 private:
  struct Attempt {
    reactor::Descriptor socket;
    std::optional<KnockResult> result;
  };
  struct Knock {
    std::string node;
    base::Address target;
    KnockSeries series;
    std::vector<reactor::Descriptor> unused;  // made in advance: each entry into a namespace costs a thread
    std::vector<Attempt> attempts;
  };
  static Attempt send(Knock& knock);
  static std::optional<KnockResult> look_at(Knock& knock, base::Instant now);

  std::vector<Knock> running_;
};

// What an error of connect() says about the node.
KnockResult judge_connect(int error);

}  // namespace ebb::reap
