#include "sim/ledger.h"

#include <algorithm>

namespace ebb::sim {

namespace {

constexpr Duration time_to_hear = seconds{5};  // what a trouble has begun may end after it

// Causes that the router infers: nothing that the endpoint or its kernel has said proves them.
constexpr const char* inferred[] = {"backend_silent", "backend_dead", "backend_failing", "backend_check_failed"};

}  // namespace

const char* name(Strike strike) {
  switch (strike) {
    case Strike::none: return "none";
    case Strike::close_before_head: return "close before head";
    case Strike::reset_before_head: return "reset before head";
    case Strike::stall_before_head: return "stall before head";
    case Strike::garbage_head: return "garbage head";
    case Strike::cut_in_head: return "cut in head";
    case Strike::cut_in_body: return "cut in body";
    case Strike::reset_in_body: return "reset in body";
    case Strike::stall_in_body: return "stall in body";
  }
  return "?";
}

const char* name(Outcome outcome) {
  switch (outcome) {
    case Outcome::pending: return "pending";
    case Outcome::answered: return "answered";
    case Outcome::refused: return "refused";
    case Outcome::broken: return "broken";
    case Outcome::abandoned: return "abandoned";
  }
  return "?";
}

void Ledger::set_retries(std::uint32_t backend, std::uint32_t retries) {
  if (retries_.size() <= backend) retries_.resize(backend + 1);
  retries_[backend] = retries;
}

Exchange& Ledger::add(Exchange exchange) {
  exchange.id = exchanges_.size() + 1;
  exchange.idempotent = exchange.method != "POST" && exchange.method != "PATCH";
  if (excuse_all_ != nullptr) exchange.excuse = excuse_all_;
  if (mirrors_itself_.contains(exchange.backend)) exchange.excuse = "its copy may be taken for it";
  exchanges_.push_back(std::move(exchange));
  pending_ += 1;
  return exchanges_.back();
}

Exchange* Ledger::find(std::uint64_t id) {
  if (original_ != nullptr) return find_copy(id);
  return id == 0 || id > exchanges_.size() ? nullptr : &exchanges_[id - 1];
}

Ledger& Ledger::mirrors(std::uint32_t backend) {
  if (mirrors_ == nullptr) {
    mirrors_ = std::make_unique<Ledger>(world_);
    mirrors_->original_ = this;
    mirrors_->mirror_backend_ = backend;
    mirrors_->set_retries(backend, 0);
  }
  return *mirrors_;
}

// A copy is made once for each time that its client asks, whatever becomes of either.
Exchange* Ledger::find_copy(std::uint64_t id) {
  const Exchange* original = original_->find(id);
  if (original == nullptr) return nullptr;
  if (original->upgrade) world_.fail("an upgrade was mirrored: " + describe(*original));
  const auto [found, first] = copies_.try_emplace(id, *original);
  Exchange& copy = found->second;
  if (first) {
    constexpr Strike any[] = {Strike::close_before_head, Strike::reset_before_head, Strike::stall_before_head,
                              Strike::garbage_head,      Strike::cut_in_body,       Strike::stall_in_body};
    copy.backend = mirror_backend_;
    copy.idempotent = true;
    copy.attempts = copy.executions = 0;
    copy.plan.pause = {};
    copy.plan.strikes = UINT32_MAX;
    copy.plan.strike = strikes_ && id % 2 == 0 ? any[id / 2 % std::size(any)] : Strike::none;
  }
  copy.asked = original->asked;
  return &copy;
}

void Ledger::excuse(std::uint64_t id, const char* why) {
  if (Exchange* exchange = find(id); exchange != nullptr && exchange->excuse == nullptr) exchange->excuse = why;
}

void Ledger::excuse_all(const char* why) {
  excuse_all_ = why;
  if (why == nullptr) return;
  for (Exchange& exchange : exchanges_)
    if (exchange.outcome == Outcome::pending) excuse(exchange.id, why);
}

bool Ledger::repeatable(const Exchange& exchange) {
  return exchange.idempotent && !exchange.upgrade && exchange.request_bytes < replay_bytes_max &&
         !exchange.plan.continue_first && !exchange.plan.early;
}

void Ledger::excuse_unrepeatable(std::uint64_t id, const char* why) {
  if (const Exchange* exchange = find(id); exchange != nullptr && !repeatable(*exchange)) excuse(id, why);
}

void Ledger::excuse_all_at(const std::string& endpoint, const char* why) {
  for (Exchange& exchange : exchanges_)
    if (exchange.outcome == Outcome::pending && exchange.endpoint == endpoint) excuse(exchange.id, why);
}

void Ledger::excuse_unread(std::uint32_t backend, const char* why) {
  for (Exchange& exchange : exchanges_) {
    const bool asked = exchange.outcome == Outcome::pending && exchange.asked > 0 && exchange.attempts == 0;
    const bool repeats = repeatable(exchange) && retries_[backend] > 0;
    if (asked && exchange.backend == backend && !repeats) excuse(exchange.id, why);
  }
}

void Ledger::excuse_begun_at(const std::string& endpoint, const char* why) {
  for (Exchange& exchange : exchanges_) {
    if (exchange.outcome != Outcome::pending || exchange.endpoint != endpoint) continue;
    if (exchange.answer_begun || !repeatable(exchange)) excuse(exchange.id, why);
  }
}

void Ledger::begin_trouble(std::uint32_t backend, const char* why, std::string endpoint) {
  troubles_.push_back({backend, why, std::move(endpoint), world_.now(), Instant::max()});
}

void Ledger::end_trouble(std::uint32_t backend) {
  for (Trouble& trouble : troubles_)
    if (trouble.backend == backend && trouble.until == Instant::max()) trouble.until = world_.now() + time_to_hear;
}

void Ledger::swallowed(std::uint32_t backend, std::size_t count) {
  swallowed_.insert(swallowed_.end(), count, {backend, world_.now()});
}

// It was tried as often as it may, each time in vain. What was sent to one that nobody knew to be gone, nobody has
// read.
bool Ledger::fell_one_after_the_other(const Exchange& exchange) const {
  std::set<std::string_view> under_it;
  for (const Fall& fall : falls_) {
    if (fall.backend == exchange.backend && fall.when + time_to_hear >= exchange.sent_at)
      under_it.insert(fall.endpoint);
  }
  return under_it.size() > retries_[exchange.backend];
}

// What is refused may be asked again, whatever its method; but not where it has one try, or is not kept.
bool Ledger::met_a_goaway(const Exchange& exchange) const {
  const bool kept = exchange.request_bytes < replay_bytes_max;
  if (exchange.attempts > 0 || (retries_[exchange.backend] > 0 && kept)) return false;
  return std::ranges::any_of(goaways_, [&](const Goaway& one) {
    return one.backend == exchange.backend && one.when + time_to_hear >= exchange.sent_at;
  });
}

bool Ledger::forgiven(const Exchange& exchange) {
  if (exchange.excuse != nullptr) return true;
  const bool repeats = repeatable(exchange);
  if (fell_one_after_the_other(exchange) || met_a_goaway(exchange)) return true;
  // One is ill, and the slow may be taken for ill as well wherever they wait: see ResponsePlan::slow().
  const bool tried = exchange.attempts > retries_[exchange.backend];
  if (exchange.plan.slow() && tried && !well(exchange.backend)) return true;
  for (const Trouble& trouble : troubles_) {
    const bool met = trouble.backend == exchange.backend && exchange.sent_at <= trouble.until;
    const bool there = trouble.endpoint.empty() || trouble.endpoint == exchange.endpoint;
    if (met && there && !repeats) return true;
  }
  const auto known = std::ranges::find_if(swallowed_, [&](const Swallowed& one) {
    return !repeats && one.backend == exchange.backend && one.when >= exchange.sent_at;
  });
  if (known == swallowed_.end()) return false;
  swallowed_.erase(known);
  return true;
}

void Ledger::served(const Exchange& exchange, const std::string& endpoint, bool new_cookie) {
  if (exchange.bound_to.empty() || exchange.bound_to == endpoint) return;
  if (!new_cookie) world_.fail("served by another endpoint than its cookie names, and not told: " + describe(exchange));
  const bool steady = !excusing_all() && !disturbed_.contains(exchange.bound_to) && exchange.attempts == 1;
  if (steady) world_.fail("moved away from an endpoint that is well: " + describe(exchange));
}

void Ledger::head_arrived(Exchange& exchange, const std::string& endpoint) {
  exchange.attempts += 1;
  exchange.endpoint = endpoint;
  exchange.answer_begun = false;
  if (exchange.due == Due::refusal) world_.fail("a malformed request reached a backend: " + describe(exchange));
}

// At most once, unless repeating it does no harm (RFC 9110 9.2.2).
void Ledger::executed(Exchange& exchange) {
  exchange.executions += 1;
  const std::uint32_t copies = mirrors_itself_.contains(exchange.backend) ? exchange.asked : 0;
  const std::uint32_t most = copies + (exchange.idempotent ? exchange.asked * (1 + retries_[exchange.backend]) : 1);
  if (exchange.due != Due::service) world_.fail("a request that was to be refused was executed: " + describe(exchange));
  if (exchange.executions > most) world_.fail("executed too often: " + describe(exchange));
}

// Once it must be asked again, whatever its method; each time is one of its tries.
void Ledger::refused(std::uint64_t id) {
  Exchange* exchange = find(id);
  if (exchange == nullptr) return;
  world_.note("refused unprocessed", id);
  exchange->refusals += 1;
  const bool kept = exchange->request_bytes < replay_bytes_max;
  if (exchange->refusals > 1 || retries_[exchange->backend] == 0 || !kept) excuse(id, "refused unprocessed");
}

// A pooled connection that fails before any response byte must be made up for if the request may be repeated; all
// other strikes may show.
void Ledger::struck(Exchange& exchange, Strike strike, bool connection_reused) {
  world_.note("strike", exchange.id, static_cast<std::uint64_t>(strike));
  const bool before_any_byte = strike == Strike::close_before_head || strike == Strike::reset_before_head;
  const bool repeatable = exchange.idempotent && exchange.request_bytes == 0 && retries_[exchange.backend] > 0;
  if (before_any_byte && repeatable && connection_reused && exchange.attempts <= 1) return;
  excuse(exchange.id, name(strike));
}

void Ledger::end(std::uint64_t id, Outcome outcome, int status) {
  Exchange& exchange = *find(id);
  world_.note(name(outcome), id, static_cast<std::uint64_t>(status));
  if (exchange.outcome != Outcome::pending) {
    world_.fail("ended twice: " + describe(exchange));
    return;
  }
  exchange.outcome = outcome;
  exchange.status = status;
  exchange.ended_at = world_.now();
  pending_ -= 1;
  counts_[static_cast<std::size_t>(outcome)] += 1;
  if (exchange.due != Due::service) return judge_refusal(exchange);
  if (outcome == Outcome::refused) judge_inference(exchange);
  if (outcome == Outcome::answered && exchange.executions == 0 && !exchange.plan.early)
    world_.fail("answered although no backend has read it: " + describe(exchange));
  const bool lost = outcome == Outcome::refused || outcome == Outcome::broken;
  if (lost && !forgiven(exchange)) world_.fail("lost without a reason: " + describe(exchange));
}

// Whatever else may excuse its loss.
void Ledger::judge_inference(const Exchange& exchange) {
  const bool guessed = std::ranges::find(inferred, exchange.cause) != std::end(inferred);
  if (guessed && well(exchange.backend)) world_.fail("ended by inference, and all are well: " + describe(exchange));
  if (exchange.cause == "backend_silent" && !exchange.idempotent)
    world_.fail("not repeatable, and ended by silence alone: " + describe(exchange));
}

void Ledger::judge_refusal(const Exchange& exchange) {
  if (exchange.outcome == Outcome::answered) world_.fail("a bad request was answered: " + describe(exchange));
  if (exchange.outcome == Outcome::refused && (exchange.status < 400 || exchange.status > 505))
    world_.fail("a bad request was refused oddly: " + describe(exchange));
  // Behind a head that was in order, the answer may be lost to the reset that unread bytes cause.
  const bool silent = exchange.outcome == Outcome::broken && exchange.due == Due::refusal;
  if (silent && exchange.excuse == nullptr) world_.fail("a malformed request got no answer: " + describe(exchange));
}

std::string Ledger::describe(const Exchange& exchange) const {
  return "exchange " + std::to_string(exchange.id) + " " + exchange.method + " " +
         std::to_string(exchange.request_bytes) + " bytes, " + name(exchange.outcome) + " " +
         std::to_string(exchange.status) + " " + exchange.cause + ", attempts " + std::to_string(exchange.attempts) +
         ", executions " + std::to_string(exchange.executions) + ", strike " + name(exchange.plan.strike) +
         ", excuse " + (exchange.excuse == nullptr ? "none" : exchange.excuse);
}

}  // namespace ebb::sim
