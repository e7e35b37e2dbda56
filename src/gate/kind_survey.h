// What the other workers know about one kind of requests to one backend. A client's connection belongs to one worker,
// so that the traffic which shows that an endpoint is well, or that its siblings answer, may be another worker's. Asked
// for while requests of the kind wait, never on the way of a request that is answered.
//
// Owns the answers of the other workers; each counts for 1.5 s. Owned by HealthWatch, ends with the worker.
// May touch what an endpoint is known to do at once (`order`): another worker may have seen it.
// Before: gate/waiting_requests, gate/trials (want). Next: gate/known_times, gate/silence_scale.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/slot_map.h"
#include "gate/core.h"
#include "gate/waiting_requests.h"
#include "lifecycle/evidence.h"

namespace ebb::gate {

struct KindQuestion {
  base::Handle view;             // of the worker that asks
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
    bool concurrent = false;  // seen to work on several requests at a time
  };
  lifecycle::AnswerTimes times;  // of all endpoints
  base::Instant answered{};      // the latest request of the kind that one of those which owe nothing has answered
  std::vector<Wait> waits;       // requests of the kind, at any endpoint; those that wait longest
  std::vector<Endpoint> silent;  // those that were asked about

  void add(const KindReport& other, bool with_waits);
  const Endpoint* find(std::uint64_t identity) const;
};

struct KindAnswer {
  base::Handle view;
  lifecycle::RequestKind kind = 0;
  KindReport report;
};

class KindSurvey {
 public:
  static constexpr std::size_t kinds_max = 32;
  static constexpr std::size_t silent_max = 16;
  static constexpr base::Duration interval = std::chrono::milliseconds{100};    // less than a look: none is left out
  static constexpr base::Duration interval_slow = std::chrono::seconds{1};      // of a kind that is known to be slow
  static constexpr base::Duration kept = std::chrono::milliseconds{1500};       // a report; a row that nobody wants
  static constexpr base::Duration waits_kept = std::chrono::milliseconds{500};  // then they may have been answered

  KindSurvey(Core& core, const WaitingRequests& waiting) : core_(core), waiting_(waiting) {}

  // About each kind that waits here: earlier than anything is concluded, so that the answers are there then.
  void ask_about_waiting();
  // For another worker, where requests of these kinds wait.
  void answer(std::size_t asker, std::span<const KindQuestion> questions) const;
  // Puts it on the list for ask(), unless it was asked that short a time ago.
  void want(KindQuestion question, base::Duration at_most_every);
  // One message to each worker, whatever is on the list.
  void ask();
  void take(std::size_t worker, std::vector<KindAnswer> answers);
  // Null: nothing was asked, or nobody has answered lately.
  const KindReport* find(base::Handle view, lifecycle::RequestKind kind);

 private:
  struct Report {
    KindReport report;
    base::Instant at{};
  };
  struct Row {
    base::Handle view;
    lifecycle::RequestKind kind = 0;
    base::Instant wanted_at{};
    base::Instant asked_at{};
    std::vector<Report> reports;  // by worker
    KindReport sum;
    base::Instant summed_at{};
    bool changed = false;  // since it was summed
    bool answered = false;
  };
  Row* row_of(base::Handle view, lifecycle::RequestKind kind);
  Row* add_row(base::Handle view, lifecycle::RequestKind kind);
  void sum_up(Row& row) const;
  void want(std::span<const WaitingRequest> kind);
  KindReport report_on(const KindQuestion& question) const;

  Core& core_;
  const WaitingRequests& waiting_;
  std::vector<Row> rows_;
  std::vector<KindQuestion> wanted_;
};

}  // namespace ebb::gate
