#include "gate/waiting_requests.h"

#include <algorithm>

#include "gate/exchanges.h"
#include "gate/witnesses.h"

namespace ebb::gate {

using base::Handle;

namespace {

constexpr std::uint32_t slow_elsewhere_max = 2;  // one alone would hide a frozen endpoint that is not known well

}  // namespace

void WaitingRequests::look() {
  looked_at_ = core_.reactor.now();
  forget();
  note_heard();
  find_running();
  find_given_up();
  std::ranges::sort(all_, [](const WaitingRequest& a, const WaitingRequest& b) { return a.before(b); });
}

void WaitingRequests::forget() {
  all_.clear();
  asked_lately_.clear();
  slow_elsewhere_.clear();
}

void WaitingRequests::note_heard() {
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    LiveEndpoint* endpoint = core_.endpoints->find(exchange.endpoint());
    if (endpoint != nullptr) endpoint->heard = std::max(endpoint->heard, exchange.attempt->heard);
  });
}

void WaitingRequests::find_running() {
  core_.exchanges->for_each([&](Handle, const Exchange& exchange) {
    if (!exchange.waits_for_answer()) return;
    const Attempt& attempt = *exchange.attempt;
    LiveEndpoint* endpoint = core_.endpoints->find(attempt.endpoint);
    if (endpoint == nullptr) return;
    endpoint->order.waits(attempt.place);
    if (exchange.front == core_.witnesses) return;  // that it waits is what it told
    const routes::SilenceModel& limits = core_.endpoints->view(endpoint->view).evidence.silence;
    const base::Duration waited = looked_at_ - attempt.asked;
    if (waited <= limits.after) asked_lately_.insert(endpoint->self.slot);
    const bool slow_itself = exchange.tries.left_silence && waited > limits.trial;
    if (slow_itself && !endpoint->order.concurrent()) slow_elsewhere_[endpoint->view.slot] += 1;
    if (!limits.on || waited <= limits.after / 2) return;
    const bool overtaken = attempt.asked < endpoint->heard;
    all_.push_back({endpoint->view, attempt.endpoint, exchange.request.kind, waited, overtaken});
  });
}

void WaitingRequests::find_given_up() {
  for (const Handle handle : given_up_at_) {
    LiveEndpoint* endpoint = core_.endpoints->find(handle);
    if (endpoint == nullptr) continue;
    endpoint->evidence.settle(endpoint->heard, looked_at_);
    const routes::SilenceModel& limits = core_.endpoints->view(endpoint->view).evidence.silence;
    for (const lifecycle::GivenUp& request : endpoint->evidence.given_up_unheard()) {
      const base::Duration waited = looked_at_ - request.asked;
      if (limits.on && waited > limits.after / 2) all_.push_back({endpoint->view, handle, request.kind, waited, false});
    }
  }
  std::erase_if(given_up_at_, [this](Handle handle) {
    const LiveEndpoint* endpoint = core_.endpoints->find(handle);
    return endpoint == nullptr || endpoint->evidence.given_up_unheard().empty();
  });
}

// It would have taken longer: that is known of it, and must not be lost. But where nothing at all has come since it was
// asked, it may be that nothing will: until something does, the request counts as one that waits. Of an endpoint that
// is doubted nothing is learned: it would look slow for having been dead.
void WaitingRequests::given_up(LiveEndpoint& endpoint, lifecycle::RequestKind kind, base::Instant asked) {
  if (endpoint.doubt != lifecycle::Doubt::none) return;
  const base::Instant now = core_.reactor.now();
  if (endpoint.heard >= asked) return endpoint.evidence.given_up(kind, now - asked, now);
  endpoint.evidence.given_up_unheard(kind, asked, now);
  if (std::ranges::find(given_up_at_, endpoint.self) == given_up_at_.end()) given_up_at_.push_back(endpoint.self);
}

bool WaitingRequests::owes(Handle endpoint) const {
  return std::ranges::any_of(
      all_, [endpoint](const WaitingRequest& each) { return each.endpoint == endpoint && !each.overtaken; });
}

// Two requests that have left a silent endpoint are not answered where they went either: perhaps they are slow
// themselves, and block one endpoint that handles one at a time after another. Such endpoints get no trial meanwhile.
bool WaitingRequests::block_endpoints_like(const LiveEndpoint& endpoint) const {
  const auto found = slow_elsewhere_.find(endpoint.view.slot);
  return !endpoint.order.concurrent() && found != slow_elsewhere_.end() && found->second >= slow_elsewhere_max;
}

}  // namespace ebb::gate
