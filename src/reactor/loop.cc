#include "reactor/loop.h"

#include <algorithm>

namespace ebb::reactor {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t own_timers = UINT32_MAX;  // the kind of owner that is never shown to the handler
constexpr base::Duration accept_pause = 50ms;
constexpr base::Duration starved_pause = 5ms;
constexpr base::Duration glance_pause = 50ms;
constexpr base::Duration linger_least = 1s;  // also where the user timeout is switched off

base::Owner own_timer(std::uint32_t kind) { return {own_timers, {kind, 1}}; }

}  // namespace

Loop::Loop(const SocketLimits& limits)
    : limits_(limits),
      datagrams_(counters_),
      now_(clock_.now()),
      timers_(now_),
      accept_again_(own_timer(accept_timer)),
      flushing_{.ends = base::Timer(own_timer(linger_timer)), .sockets = {}},
      draining_{.ends = base::Timer(own_timer(silence_timer)), .sockets = {}},
      age_ends_(own_timer(age_timer)),
      glance_(own_timer(glance_timer)) {}

void Loop::run(Handler& handler) {
  handler_ = &handler;
  while (!stopping_.load(std::memory_order_acquire)) {
    wait_and_serve();
    counters_.loops += 1;
    end_round();
  }
  stopping_.store(false, std::memory_order_relaxed);
  handler_ = nullptr;
}

void Loop::stop() {
  stopping_.store(true, std::memory_order_release);
  mailbox_.wake();
}

base::Duration Loop::longest_wait() const {
  if (has_ready()) return starved_ ? starved_pause : base::Duration::zero();
  const base::Instant wake = timers_.next_wake();
  if (wake == base::Instant::max()) return forever;
  return std::max(wake - clock_.now(), base::Duration::zero());
}

void Loop::end_round() {
  timers_.advance(now_, [this](base::Owner owner) {
    if (owner.kind == own_timers) {
      on_own_timer(static_cast<TimerKind>(owner.handle.slot));
    } else {
      handler_->on_timer(owner);
    }
  });
  if (mail_waits_) {
    mail_waits_ = false;
    mailbox_.run();
  }
  handler_->on_round_end();
  counters_.lag_max = std::max(counters_.lag_max, clock_.now() - now_);
}

void Loop::on_own_timer(TimerKind kind) {
  switch (kind) {
    case accept_timer: return resume_accepting();
    case linger_timer: return end_overdue(flushing_);
    case silence_timer: return end_overdue(draining_);
    case age_timer: return end_aged();
    case glance_timer: return glance();
  }
}

void Loop::end_overdue(Lingering& lingering) {
  auto& sockets = lingering.sockets;
  while (!sockets.empty() && sockets.front()->deadline <= now_) end(*sockets.front());
  if (!sockets.empty()) timers_.arm(lingering.ends, sockets.front()->deadline);
}

void Loop::end_aged() {
  while (!by_age_.empty() && last_of(*by_age_.front()) <= now_) end(*by_age_.front());
  if (!by_age_.empty()) timers_.arm(age_ends_, last_of(*by_age_.front()));
}

void Loop::end(Linger& linger) {
  linger.Waiting::unlink();
  linger.Ageing::unlink();
  end_linger(linger.socket);
}

base::Instant Loop::last_of(const Linger& linger) const {
  return linger.closed + std::max(limits_.flush_total, linger_least);
}

std::size_t Loop::end_flushing(std::size_t bytes, base::Duration age) {
  std::size_t freed = 0;
  Linger* next = by_age_.front();
  while (next != nullptr && freed < bytes && next->closed + age <= now_) {
    Linger& oldest = *next;
    next = by_age_.next(oldest);
    const std::size_t memory = linger_memory(oldest.socket);
    if (memory == 0) continue;  // it only waits for its peer's FIN
    freed += memory;
    end(oldest);
  }
  return freed;
}

bool Loop::read_holdings(HoldingsCursor& cursor, Holdings& out) {
  switch (cursor.part) {
    case 0:
      out.push_back({.descriptor = mailbox_.descriptor()});
      out.push_back({.descriptor = datagrams_.descriptor()});
      pipes_.list(out);
      list_own(out);
      break;
    case 1: cursor.slot = datagrams_.list(cursor.slot, out); break;
    default: cursor.slot = list_sockets(cursor.slot, out); return cursor.slot != 0;
  }
  if (cursor.slot == 0) cursor.part += 1;
  return true;
}

void Loop::pause_accepting() {
  counters_.accepts_failed += 1;
  if (!accept_again_.armed()) timers_.arm(accept_again_, now_ + accept_pause);
}

void Loop::glance_soon() {
  if (!glance_.armed()) timers_.arm(glance_, now_ + glance_pause);
}

void Loop::bound_linger(std::unique_ptr<Linger>& linger, SocketId socket) {
  if (linger == nullptr) {
    linger = std::make_unique<Linger>(socket);
    linger->closed = now_;
    by_age_.push_back(*linger);
    if (!age_ends_.armed()) timers_.arm(age_ends_, last_of(*linger));
  }
  linger->latest = now_ + std::max(limits_.user_timeout, linger_least);
  await(flushing_, *linger, linger->latest);
}

void Loop::bound_silence(const std::unique_ptr<Linger>& linger) {
  if (linger == nullptr || now_ + linger_silence >= linger->latest) return;
  await(draining_, *linger, now_ + linger_silence);
}

void Loop::await(Lingering& lingering, Linger& linger, base::Instant deadline) {
  linger.Waiting::unlink();
  linger.deadline = deadline;
  lingering.sockets.push_back(linger);
  if (!lingering.ends.armed()) timers_.arm(lingering.ends, lingering.sockets.front()->deadline);
}

}  // namespace ebb::reactor
