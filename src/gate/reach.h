// Endpoints to which no connection can be established. Is the host gone, or is only its accept queue full? A waiting
// stream sends nothing and would not tell for long. So this worker asks the peers of open connections by keepalive
// probes, which a kernel answers whatever its process does. Not one answer: the host is gone.
//
// Owns the list of endpoints whose connections are asked. Owned by HealthWatch. An endpoint leaves the list when its
// early question is over, when it can be reached again, or with the endpoint.
// May switch keepalive probes of connections. Before: gate/moves, gate/backends, gate/health. Next: gate/verdicts.
#pragma once

#include <cstdint>
#include <vector>

#include "gate/core.h"
#include "gate/endpoints.h"
#include "gate/findings.h"
#include "gate/health_news.h"

namespace ebb::gate {

class Reach {
 public:
  Reach(Core& core, Findings& findings) : core_(core), findings_(findings) {}

  void connect_failed(const LiveEndpoint& endpoint, base::Cause cause);
  // No answer to SYN yet. All workers ask early, so that the answers are there when the attempt has failed.
  void connect_slow(const LiveEndpoint& endpoint);
  void ask_early(std::uint64_t identity);
  void follow(const LiveEndpoint& endpoint, const HealthNews& news);

  // True: answers are still awaited, so that the next look should come soon.
  bool look();
  bool asks() const { return !asked_.empty(); }

 private:
  // early: an attempt to connect gets no answer yet. lost: no connection can be established.
  enum class Why : std::uint8_t { early, lost };
  struct Answers {  // to the probes, as of one look
    std::uint32_t came = 0, missing = 0, pending = 0;
    base::Instant last_asked = long_ago;
  };
  struct Asked {
    base::Handle endpoint;
    Why why = Why::lost;
    base::Instant until{};  // of an early question
    Answers answers{};
  };

  Asked* find(base::Handle endpoint);
  bool has_connections(base::Handle endpoint) const;
  void ask_connections(base::Handle endpoint);
  void leave_connections(base::Handle endpoint);
  void drop_ended();
  void collect_answers();
  void note_answer(Answers& answers, const BackendConnection& connection) const;
  void weigh(const Asked& asked);

  Core& core_;
  Findings& findings_;
  std::vector<Asked> asked_;
};

}  // namespace ebb::gate
