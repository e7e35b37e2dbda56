// The common part of the epoll and the io_uring reactor: clock, timers, blocks, mailbox, and the order of a round:
//
//   wait -> begin_round -> events -> end_round: timers, posted tasks, on_round_end
//
// They differ in everything that touches a stream socket; datagrams they share (datagrams.h).
#pragma once

#include <atomic>

#include "base/list.h"
#include "reactor/datagrams.h"
#include "reactor/linger.h"
#include "reactor/mailbox.h"
#include "reactor/pump.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

class Loop : public Reactor {
 public:
  void run(Handler& handler) final;
  void stop() final;
  void post(std::move_only_function<void()> task) final { mailbox_.post(std::move(task)); }

  base::Result<DatagramSocketId> bind_datagrams(const base::Address& address, Owner owner) final {
    return datagrams_.bind(address, owner);
  }
  base::Result<DatagramSocketId> connect_datagrams(const base::Address& peer, Owner owner) final {
    return datagrams_.connect(peer, owner);
  }
  DatagramSent send_datagram(DatagramSocketId socket, std::string_view bytes) final {
    return datagrams_.send(socket, bytes);
  }
  DatagramSent answer_datagram(DatagramSocketId socket, std::string_view bytes, const base::Address& to,
                               const base::Address& from) final {
    return datagrams_.answer(socket, bytes, to, from);
  }
  base::Address datagram_address(DatagramSocketId socket) const final { return datagrams_.local_address(socket); }
  void close_datagrams(DatagramSocketId socket) final { datagrams_.close(socket); }

  bool read_holdings(HoldingsCursor& cursor, Holdings& out) final;
  bool holds(DatagramSocketId socket, Owner owner) const final { return datagrams_.holds(socket, owner); }

  const base::Clock& clock() const final { return clock_; }
  base::Instant now() const final { return now_; }
  base::TimerWheel& timers() final { return timers_; }
  base::BlockPool& blocks() final { return blocks_; }
  Counters& counters() final { return counters_; }
  std::size_t end_flushing(std::size_t bytes, base::Duration age) final;

 protected:
  static constexpr base::Duration forever = base::Duration::max();

  explicit Loop(const SocketLimits& limits);

  // Waits for events, at most longest_wait(), and handles them. begin_round() must be called once waiting is over.
  virtual void wait_and_serve() = 0;
  // More can be done without any event: the next wait must not last.
  virtual bool has_ready() const = 0;
  virtual void resume_accepting() = 0;
  virtual void glance() {}
  virtual void end_linger(SocketId socket) = 0;
  virtual std::size_t linger_memory(SocketId socket) const = 0;  // of its output
  // Its set or ring and its listeners; and its sockets from that slot on, until the slot that is returned or, if that
  // is 0, the end.
  virtual void list_own(Holdings& out) = 0;
  virtual std::uint32_t list_sockets(std::uint32_t from, Holdings& out) = 0;

  base::Duration longest_wait() const;
  void begin_round() {
    now_ = clock_.now();
    starved_ = false;
  }
  void mail_has_come() { mail_waits_ = true; }
  // The pool's budget is used up: looks again soon instead of spinning.
  void starve() { starved_ = true; }
  // Descriptors have run out: resume_accepting() follows after a pause.
  void pause_accepting();
  // glance() follows soon.
  void glance_soon();
  // end_linger() follows if the user timeout passes before the next call or the socket's end: call it on progress. It
  // follows also if flush_total passes since the first call.
  void bound_linger(std::unique_ptr<Linger>& linger, SocketId socket);
  // The same for a socket that has sent everything and only waits for its peer's FIN: call it when bytes have come.
  void bound_silence(const std::unique_ptr<Linger>& linger);

  Handler* handler_ = nullptr;
  const SocketLimits limits_;
  Counters counters_;
  base::BlockPool blocks_;  // before all that may hold slices
  Mailbox mailbox_;
  PipePool pipes_;
  Datagrams datagrams_;

 private:
  enum TimerKind : std::uint32_t { accept_timer, linger_timer, silence_timer, age_timer, glance_timer };
  // All have the same time-out, so the last to come has the last deadline.
  struct Lingering {
    base::Timer ends;
    base::List<Linger, Linger> sockets;
  };

  void end_round();
  void on_own_timer(TimerKind kind);
  void await(Lingering& lingering, Linger& linger, base::Instant deadline);
  void end_overdue(Lingering& lingering);
  void end_aged();
  void end(Linger& linger);
  base::Instant last_of(const Linger& linger) const;

  base::SystemClock clock_;
  base::Instant now_;
  base::TimerWheel timers_;
  base::Timer accept_again_;
  Lingering flushing_;
  Lingering draining_;
  base::Timer age_ends_;
  base::Timer glance_;
  base::List<Linger, ByAge> by_age_;  // one total for all, too
  std::atomic<bool> stopping_ = false;
  bool mail_waits_ = false;
  bool starved_ = false;
};

}  // namespace ebb::reactor
