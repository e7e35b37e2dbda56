#include "gate/silence_scale.h"

#include <algorithm>

#include "gate/endpoints.h"
#include "gate/known_times.h"
#include "lifecycle/surprise.h"

namespace ebb::gate {

using base::Handle;
using lifecycle::AnswerTimes;
using lifecycle::KindEvidence;

namespace {

constexpr double worth_a_trial = lifecycle::Verdict::doubts;
constexpr double worth_it_at_last = 1;    // one in ten, where more is not known and time has passed
constexpr double surely_doubtful = 3;     // one in a thousand
constexpr std::uint32_t waiting_min = 2;  // one request alone never moves without a trial

}  // namespace

bool SilenceScale::Weight::sure() const { return surprise >= surely_doubtful && requests >= waiting_min; }

void SilenceScale::Weight::add(const WaitingRequest& request, double surprise_of_it) {
  endpoint = request.endpoint;
  requests += 1;
  longest = std::max(longest, request.waited);
  surprise += surprise_of_it;
}

const SilenceScale::Weight* SilenceScale::find(Handle endpoint) const {
  const auto known = weights_.find(endpoint.slot);
  return known != weights_.end() && known->second.endpoint == endpoint ? &known->second : nullptr;
}

bool SilenceScale::sure(Handle endpoint) const {
  const Weight* known = find(endpoint);
  return known != nullptr && known->sure();
}

void SilenceScale::look() {
  weights_.clear();
  unasked_.clear();
  const std::span<const WaitingRequest> all = waiting_.all();
  for (auto first = all.begin(); first != all.end();) {
    const auto last =
        std::find_if(first, all.end(), [&](const WaitingRequest& each) { return !each.same_kind(*first); });
    weigh_kind(on_all_workers({first, last}));
    first = last;
  }
  report_weights();
}

void SilenceScale::report_weights() {
  for (const auto& [slot, each] : weights_) {
    const bool long_waits = each.longest >= lifecycle::cold_patience;
    if (each.surprise < (long_waits ? worth_it_at_last : worth_a_trial)) continue;
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    if (endpoint == nullptr) continue;
    findings_.report({.identity = endpoint->identity, .kind = Finding::Kind::silent, .surprise = each.surprise});
  }
}

// Of those that wait for too long, here and on the workers that have said so; the longest waits first.
std::vector<WaitingRequest> SilenceScale::on_all_workers(std::span<const WaitingRequest> here) {
  const WaitingRequest& first = here.front();
  const base::Instant now = waiting_.looked_at();
  const base::Duration after = core_.endpoints->view(first.view).evidence.silence.after;
  std::vector<WaitingRequest> all(here.begin(), here.end());
  const KindReport* others = survey_.find(first.view, first.kind);
  if (others != nullptr) {
    for (WaitingRequest& each : all) {
      const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
      const KindReport::Endpoint* there = endpoint == nullptr ? nullptr : others->find(endpoint->identity);
      each.overtaken = each.overtaken || (there != nullptr && now - each.waited < there->heard);
    }
    for (const KindReport::Wait& wait : others->waits) {
      const LiveEndpoint* endpoint = core_.endpoints->find_identity(wait.endpoint);
      if (endpoint != nullptr && endpoint->view == first.view)
        all.push_back({first.view, endpoint->self, first.kind, now - wait.asked, wait.asked < endpoint->heard});
    }
    std::ranges::sort(all, [](const WaitingRequest& a, const WaitingRequest& b) { return a.before(b); });
  }
  std::erase_if(all, [after](const WaitingRequest& each) { return each.waited <= after; });
  return all;
}

// Requests of one kind, at all endpoints of one backend, the longest waits first. Each is counted before the next is
// asked about (lifecycle/surprise.h).
void SilenceScale::weigh_kind(std::span<const WaitingRequest> kind) {
  if (kind.empty()) return;
  const WaitingRequest& one = kind.front();
  const KindReport* others = survey_.find(one.view, one.kind);
  const AnswerTimes all = times_of(core_, survey_, one.view, one.kind);
  const base::Instant answered = answered_elsewhere(kind);
  std::unordered_map<std::uint32_t, History> histories;  // by the endpoint's slot
  Weights unproven;                                      // no sibling has answered meanwhile
  std::uint32_t late = 0;
  for (const WaitingRequest& each : kind) {
    const auto [found, added] = histories.try_emplace(each.endpoint.slot);
    History& history = found->second;
    if (added) history = history_of(each, others);
    if (history.quiet && !each.overtaken) {
      Weight& weight = (overdue(each, answered) ? weights_ : unproven)[each.endpoint.slot];
      weight.add(each, lifecycle::surprise_of_wait(each.waited, history.own, history.late, all, late));
    }
    late += 1;
    history.late += 1;
  }
  // Where requests of the kind wait at siblings too, all may be slow.
  if (unproven.size() != 1) return;
  const Weight& only = unproven.begin()->second;
  if (only.sure()) unasked_.emplace_back(only.endpoint, one.kind);
}

SilenceScale::History SilenceScale::history_of(const WaitingRequest& request, const KindReport* others) const {
  History history;
  const LiveEndpoint* endpoint = core_.endpoints->find(request.endpoint);
  if (endpoint == nullptr) return history;
  base::Instant heard = endpoint->heard;
  if (const KindEvidence* known = endpoint->evidence.find(request.kind); known != nullptr) history.own = known->times;
  const KindReport::Endpoint* there = others == nullptr ? nullptr : others->find(endpoint->identity);
  if (there != nullptr) {
    history.own.add(there->times);
    heard = std::max(heard, there->heard);
  }
  history.quiet = waiting_.looked_at() - heard > core_.endpoints->view(request.view).evidence.silence.after;
  return history;
}

// Requests that one round of the loop has read are asked at the same instant: an answer to one of them counts for all.
bool SilenceScale::overdue(const WaitingRequest& each, base::Instant answered) const {
  return !each.overtaken && waiting_.looked_at() - each.waited <= answered;
}

// Siblings that owe no answer of this kind have answered requests that were asked up to then. Where all are slow, they
// have not answered what was asked as late as what waits here.
base::Instant SilenceScale::answered_elsewhere(std::span<const WaitingRequest> kind) {
  const WaitingRequest& one = kind.front();
  const KindReport* others = survey_.find(one.view, one.kind);
  bool asked_about_all = others != nullptr;
  std::vector<std::uint32_t> owing;
  for (const WaitingRequest& each : kind) {
    if (each.overtaken) continue;
    owing.push_back(each.endpoint.slot);
    const LiveEndpoint* endpoint = core_.endpoints->find(each.endpoint);
    asked_about_all = asked_about_all && endpoint != nullptr && others->find(endpoint->identity) != nullptr;
  }
  std::ranges::sort(owing);
  base::Instant last = asked_about_all ? others->answered : base::Instant{};
  for (const Handle handle : core_.endpoints->view(one.view).endpoints) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    const KindEvidence* known = endpoint == nullptr ? nullptr : endpoint->evidence.find(one.kind);
    if (known != nullptr && !std::ranges::binary_search(owing, handle.slot)) last = std::max(last, known->asked_latest);
  }
  return last;
}

}  // namespace ebb::gate
