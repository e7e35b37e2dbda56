#include "gate/failures.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using lifecycle::Health;

namespace {

constexpr double failing_surprise = 3;             // that a healthy one fails so often in a row: one in a thousand
constexpr std::uint32_t siblings_answers_min = 2;  // to compare with
constexpr std::size_t siblings_max = 64;           // of a large backend, that are compared with

}  // namespace

void Failures::answered(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key,
                        base::Duration taken, std::uint16_t status) {
  const base::Instant now = core_.reactor.now();
  endpoint.heard = now;
  endpoint.order.answered(now - taken);
  if (status < 500) {
    endpoint.evidence.answered(kind, taken, now);
  } else {
    lifecycle::KindEvidence& row = endpoint.evidence.failed(kind, now, key);
    endpoint.evidence.failed_after(row, taken, now);
    note(endpoint, row, Cause::backend_failing);
  }
  if (endpoint.health == Health::suspect || endpoint.doubt != lifecycle::Doubt::none) {
    findings_.report({endpoint.identity, Finding::Kind::heard});
  }
}

void Failures::broke_off(LiveEndpoint& endpoint, lifecycle::RequestKind kind, lifecycle::ClientKey key, Cause cause) {
  note(endpoint, endpoint.evidence.failed(kind, core_.reactor.now(), key), cause);
}

void Failures::note(LiveEndpoint& endpoint, lifecycle::KindEvidence& row, Cause cause) {
  const routes::FailuresModel& limits = core_.endpoints->view(endpoint.view).evidence.failures;
  if (!limits.on) return;
  if (row.failures_in_a_row > 1 && row.failures_in_a_row < limits.in_a_row) return;
  const lifecycle::AnswerCounts now = siblings_of(endpoint, row.kind);
  lifecycle::AnswerCounts& before = row.siblings_before;
  // Siblings come and go: what they had answered is gone with them.
  const bool comparable = now.answers >= before.answers && now.failures >= before.failures;
  if (row.failures_in_a_row == 1 || !comparable) before = now;
  // What one client asks for may fail anywhere, and no sibling is asked for it.
  if (row.failures_in_a_row < limits.in_a_row || !row.others_failed) return;
  const std::uint32_t answers = now.answers - before.answers;
  if (answers < siblings_answers_min) return;
  const double surprise =
      lifecycle::surprise_of_failures(row.failures_in_a_row, answers, now.failures - before.failures);
  if (surprise >= failing_surprise) findings_.report({endpoint.identity, Finding::Kind::failing, cause});
}

lifecycle::AnswerCounts Failures::siblings_of(const LiveEndpoint& endpoint, lifecycle::RequestKind kind) const {
  lifecycle::AnswerCounts sum;
  std::size_t asked = 0;
  for (const Handle handle : core_.endpoints->view(endpoint.view).endpoints) {
    const LiveEndpoint* other = core_.endpoints->find(handle);
    if (other == nullptr || other == &endpoint) continue;
    if (const lifecycle::KindEvidence* known = other->evidence.find(kind); known != nullptr) {
      sum.answers += known->counts.answers;
      sum.failures += known->counts.failures;
    }
    if (++asked == siblings_max) break;
  }
  return sum;
}

}  // namespace ebb::gate
