// The connection of a leg, and the probe that is under way on it:
//
//    resting ──▶ resolving ──▶ connecting ──▶ securing ──▶ asking ──▶ parting ──▶ resting
//       │            (a name)                  (TLS)        ▲  │
//       └───────────── a connection that was kept ──────────┘◀─┘ or reset
//
// On a new connection for reuse the probe sends two requests: only the second proves that the connection carries
// several. Every probe ends with exactly one ProbeResult. Its connection is then kept, if the protocol allows that, or
// parted from (until the peer has finished or the next probe begins), or reset. There is never a second connection.
//
// Before: prober, which owns it, keeps its time and looks names up. Next: dialogue (the protocol), the reactor.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/rng.h"
#include "canary/dialogue.h"
#include "canary/leg.h"
#include "canary/probe_result.h"
#include "reactor/reactor.h"

namespace ebb::canary {

class Probe {
 public:
  Probe(reactor::Reactor& reactor, const Leg& leg, base::Owner owner, base::Rng& random);
  ~Probe();
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // The result, once there is one.
  using Ending = std::optional<ProbeResult>;
  Ending begin(Expectation expected);
  Ending on_resolved(const std::expected<base::Address, std::string>& address);
  Ending on_connected();
  Ending on_received(base::Slice bytes);
  Ending on_peer_finished();
  Ending on_failed(const base::Error& error);
  ProbeResult on_timeout();  // the budget is used up

  bool awaits_name() const { return stage_ == Stage::resolving; }
  bool under_way() const { return stage_ != Stage::resting && stage_ != Stage::parting; }
  bool has_socket() const { return static_cast<bool>(socket_); }
  reactor::SocketId socket() const { return socket_; }

 private:
  enum class Stage : std::uint8_t { resting, resolving, connecting, securing, asking, parting };
  struct Secure {
    explicit Secure(std::shared_ptr<const wire::ClientContext> with) : context(std::move(with)), session(*context) {}
    std::shared_ptr<const wire::ClientContext> context;
    wire::TlsSession session;
  };

  Ending connect(const base::Address& address);
  void make_question();
  Ending begin_asking();
  Ending ask_again();
  bool closed_instead_of_reused() const;
  ProbeResult end_without_reuse();
  Ending take_cipher(base::Slice bytes);
  Ending take_plain(const base::Slice& bytes);
  Ending after(Dialogue::Step step, base::Chain&& out);
  Ending finish_input(bool cleanly);
  ProbeResult end(Judgement judgement, bool whole = false);  // `whole`: the answer is complete
  void send(base::Chain&& plain);
  void transmit(base::Chain&& bytes);
  bool delivered() const;  // the peer has acknowledged all sent bytes
  void note_certificate();
  void part();
  void hang_up(reactor::CloseMode mode);
  base::Duration lap();  // time since the last call

  reactor::Reactor& reactor_;
  const Leg leg_;
  const base::Owner owner_;
  base::Rng& random_;
  Stage stage_ = Stage::resting;
  reactor::SocketId socket_;
  std::string peer_;        // address of the socket's peer
  std::uint64_t sent_ = 0;  // bytes sent on the socket
  std::unique_ptr<Secure> secure_;
  std::unique_ptr<Dialogue> dialogue_;  // of this probe
  std::unique_ptr<Dialogue> answered_;  // the previous dialogue, on the same connection and in the same probe
  Expectation expected_;
  base::Instant began_{};
  base::Instant lap_{};
  ProbeResult result_;  // of this probe, so far
};

}  // namespace ebb::canary
