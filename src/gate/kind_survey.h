// What the other workers know about one kind of requests to one backend. A client's connection belongs to one worker,
// so that the traffic which shows that an endpoint is well, or that its siblings answer, may be another worker's. Asked
// for while requests of the kind wait, never on the way of a request that is answered.
//
// Before: gate/health_silence (want). Next: gate/health_silence (what is made of it).
#pragma once

#include <cstdint>
#include <vector>

#include "base/slot_map.h"
#include "gate/core.h"
#include "lifecycle/evidence.h"

namespace ebb::gate {

struct KindQuestion {
  std::uint64_t backend_of = 0;  // an endpoint of the backend
  lifecycle::RequestKind kind = 0;
  std::vector<std::uint64_t> silent;  // endpoints at which requests of the kind wait; a few
};

// Of one worker, or the sum of several.
struct KindReport {
  static constexpr std::size_t waits_max = 64;
  struct Wait {
    std::uint64_t endpoint = 0;
    base::Instant asked{};
  };
  struct Endpoint {
    std::uint64_t identity = 0;
    lifecycle::AnswerTimes times;
    base::Instant heard{};
  };
  lifecycle::AnswerTimes times;  // of all endpoints
  base::Instant answered{};      // the latest request of the kind that one of those which owe nothing has answered
  std::vector<Wait> waits;       // requests of the kind, at any endpoint; those that wait longest
  std::vector<Endpoint> silent;  // those that were asked about

  void add(const KindReport& other);
  const Endpoint* find(std::uint64_t identity) const;
};

class KindSurvey {
 public:
  static constexpr std::size_t kinds_max = 32;
  static constexpr std::size_t silent_max = 16;
  static constexpr base::Duration interval = std::chrono::milliseconds{100};  // less than a look: none is left out
  static constexpr base::Duration kept = std::chrono::seconds{2};             // since it was last wanted

  explicit KindSurvey(Core& core) : core_(core) {}

  // Asks the other workers, unless that was done a moment ago.
  void want(base::Handle view, const KindQuestion& question);
  void take(base::Handle view, lifecycle::RequestKind kind, std::size_t worker, KindReport report);
  // Null: nothing was asked, or nobody has answered yet.
  const KindReport* find(base::Handle view, lifecycle::RequestKind kind) const;

 private:
  struct Row {
    base::Handle view;
    lifecycle::RequestKind kind = 0;
    base::Instant wanted_at{};
    base::Instant asked_at{};
    std::vector<KindReport> reports;  // by worker
    KindReport sum;
    bool answered = false;
  };
  Row* row_of(base::Handle view, lifecycle::RequestKind kind);
  Row* add_row(base::Handle view, lifecycle::RequestKind kind);

  Core& core_;
  std::vector<Row> rows_;
};

}  // namespace ebb::gate
