#include "sim/ledger.h"

namespace ebb::sim {

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
  exchanges_.push_back(std::move(exchange));
  pending_ += 1;
  return exchanges_.back();
}

Exchange* Ledger::find(std::uint64_t id) { return id == 0 || id > exchanges_.size() ? nullptr : &exchanges_[id - 1]; }

void Ledger::excuse(std::uint64_t id, const char* why) {
  if (Exchange* exchange = find(id); exchange != nullptr && exchange->excuse == nullptr) exchange->excuse = why;
}

void Ledger::excuse_all(const char* why) {
  excuse_all_ = why;
  if (why == nullptr) return;
  for (Exchange& exchange : exchanges_)
    if (exchange.outcome == Outcome::pending) excuse(exchange.id, why);
}

void Ledger::head_arrived(Exchange& exchange) {
  exchange.attempts += 1;
  if (exchange.due == Due::refusal) world_.fail("a malformed request reached a backend: " + describe(exchange));
}

// At most once, unless repeating it does no harm (RFC 9110 9.2.2).
void Ledger::executed(Exchange& exchange) {
  exchange.executions += 1;
  const std::uint32_t most = exchange.idempotent ? exchange.asked * (1 + retries_[exchange.backend]) : 1;
  if (exchange.due != Due::service) world_.fail("a request that was to be refused was executed: " + describe(exchange));
  if (exchange.executions > most) world_.fail("executed too often: " + describe(exchange));
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
  pending_ -= 1;
  counts_[static_cast<std::size_t>(outcome)] += 1;
  if (exchange.due != Due::service) return judge_refusal(exchange);
  if (outcome == Outcome::answered && exchange.executions == 0 && !exchange.plan.early)
    world_.fail("answered although no backend has read it: " + describe(exchange));
  const bool lost = outcome == Outcome::refused || outcome == Outcome::broken;
  if (lost && exchange.excuse == nullptr) world_.fail("lost without a reason: " + describe(exchange));
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
         std::to_string(exchange.status) + ", attempts " + std::to_string(exchange.attempts) + ", executions " +
         std::to_string(exchange.executions) + ", strike " + name(exchange.plan.strike) + ", excuse " +
         (exchange.excuse == nullptr ? "none" : exchange.excuse);
}

}  // namespace ebb::sim
