#include "canary/echo_server.h"

#include <sys/socket.h>

#include <system_error>

#include "reactor/sockets.h"

namespace ebb::canary {

using reactor::CloseMode;
using reactor::Receive;

namespace {

constexpr std::size_t held_bytes_max = std::size_t{256} << 10;

}  // namespace

EchoServer::EchoServer(reactor::Reactor& reactor, EchoIdentity identity, std::shared_ptr<const wire::ServerContext> tls,
                       const EchoLimits& limits)
    : reactor_(reactor),
      limits_(limits),
      tls_(std::move(tls)),
      desk_(std::move(identity), reactor.blocks(), reactor.clock()),
      grace_ends_({grace, {}}) {}

std::uint16_t EchoServer::listen(std::uint16_t port, std::string& error) {
  for (const char* const everywhere : {"0.0.0.0:0", "[::]:0"}) {
    base::Address address = *base::Address::parse(everywhere);
    address.set_port(port);
    const int taken = reactor::try_bind(address, SOCK_STREAM);
    if (taken == EAFNOSUPPORT || taken == EADDRNOTAVAIL) continue;  // a machine without IPv6, or without IPv4
    const auto opened =
        taken != 0 ? base::fail(base::Cause::internal, "bind", taken) : reactor_.listen(address, {listener, {}});
    if (!opened) {
      error = address.text() + ": " + std::generic_category().message(opened.error().sys);
      return 0;
    }
    listeners_.push_back(*opened);
    port = reactor_.local_address(*opened).port();
  }
  if (port == 0) error = "this machine has neither IPv4 nor IPv6";
  return port;
}

void EchoServer::begin_to_leave() {
  if (std::exchange(leaving_, true)) return;
  for (const reactor::ListenerId one : listeners_) reactor_.close_listener(one);
  std::vector<base::Handle> all;
  connections_.for_each([&all](base::Handle handle, Connection&) { all.push_back(handle); });
  for (const base::Handle handle : all) {
    Connection& one = *connections_.find(handle);
    if (one.closed || one.lingering) continue;
    base::Chain out;
    one.session.leave(out);
    send(one, std::move(out));
  }
  reactor_.timers().arm(grace_ends_, reactor_.now() + limits_.grace);
}

void EchoServer::on_accepted(base::Owner, reactor::SocketId socket, const base::Address&) {
  if (connections_.size() >= limits_.connections) return reactor_.close(socket, CloseMode::drop);
  const std::uint16_t port = reactor_.local_address(socket).port();
  const base::Handle handle = connections_.emplace(desk_, port, tls_.get());
  Connection& accepted = *connections_.find(handle);
  accepted.handle = handle;
  accepted.socket = socket;
  accepted.timer.set_owner({connection, handle});
  reactor_.adopt(socket, {connection, handle});
  reactor_.receive(socket, Receive::watchful);
  base::Chain out;
  if (leaving_) accepted.session.leave(out);
  accepted.waiting = accepted.session.waiting();
  arm(accepted, leaving_ ? limits_.linger : limits_.request);  // who connects has something to ask
}

void EchoServer::on_received(base::Owner owner, base::Slice bytes) {
  Connection* const found = connections_.find(owner.handle);
  if (found == nullptr || found->closed || found->lingering) return;
  base::Chain out;
  found->session.receive(std::move(bytes), reactor_.now(), out);
  if (found->session.waiting() == Waiting::tunnel) arm(*found, limits_.tunnel);
  send(*found, std::move(out));
}

// Whatever could be answered has been; the rest of a request will not come.
void EchoServer::on_peer_finished(base::Owner owner) {
  if (Connection* const found = connections_.find(owner.handle)) close(*found, CloseMode::flush);
}

void EchoServer::on_drained(base::Owner owner) {
  Connection* const found = connections_.find(owner.handle);
  if (found == nullptr || found->closed || found->lingering) return;
  base::Chain out;
  found->session.refill(out);
  send(*found, std::move(out));
}

void EchoServer::on_failed(base::Owner owner, const base::Error&) {
  if (Connection* const found = connections_.find(owner.handle)) close(*found, CloseMode::drop);
}

void EchoServer::on_timer(base::Owner owner) {
  if (owner.kind == grace) return reactor_.stop();
  Connection* const found = connections_.find(owner.handle);
  if (found == nullptr || found->closed) return;
  const bool quiet = found->waiting == Waiting::request && !found->stuck && !found->lingering;
  if (!quiet) return close(*found, found->stuck ? CloseMode::reset : CloseMode::drop);
  base::Chain out;
  found->session.leave(out);
  if (!out.empty()) reactor_.send(found->socket, std::move(out));
  close(*found, CloseMode::flush);
}

void EchoServer::on_round_end() {
  for (const base::Handle handle : graves_) connections_.erase(handle);
  graves_.clear();
  if (leaving_ && connections_.empty()) reactor_.stop();
}

void EchoServer::send(Connection& one, base::Chain&& out) {
  if (!out.empty()) reactor_.send(one.socket, std::move(out));
  // Answers that wait for the rest of a TLS message: few, and the last one leaves before we do.
  if (one.session.held() > held_bytes_max) return close(one, CloseMode::reset);
  if (one.session.waiting() == Waiting::nothing && one.session.held() == 0) return part(one);
  await_more(one);
}

// No request is read while an answer is stuck: what one client may make us hold is bounded.
void EchoServer::await_more(Connection& one) {
  const bool stuck = reactor_.unsent(one.socket) > 0;
  const Waiting waiting = one.session.waiting();
  const bool same = waiting == one.waiting && one.session.answers() == one.answers && stuck == one.stuck;
  if (stuck != one.stuck) reactor_.receive(one.socket, stuck ? Receive::paused : Receive::watchful);
  if (!same || leaving_) arm(one, stuck ? limits_.write : patience(waiting));
  one.stuck = stuck;
  one.waiting = waiting;
  one.answers = one.session.answers();
}

base::Duration EchoServer::patience(Waiting waiting) const {
  switch (waiting) {
    case Waiting::request: return leaving_ ? limits_.linger : limits_.idle;
    case Waiting::rest_of_request: return limits_.request;
    case Waiting::tunnel: return leaving_ ? limits_.linger : limits_.tunnel;
    case Waiting::nothing: return limits_.linger;
  }
  return limits_.linger;
}

// RFC 9112 9.6: finish our side, then read and drop what still comes, lest a reset destroys the last answer.
void EchoServer::part(Connection& one) {
  one.lingering = true;
  reactor_.finish(one.socket);
  reactor_.receive(one.socket, Receive::watchful);
  arm(one, limits_.linger);
}

void EchoServer::arm(Connection& one, base::Duration delay) {
  reactor_.timers().arm(one.timer, reactor_.now() + delay);
}

void EchoServer::close(Connection& one, CloseMode mode) {
  if (std::exchange(one.closed, true)) return;
  one.timer.disarm();
  reactor_.close(one.socket, mode);
  graves_.push_back(one.handle);
}

}  // namespace ebb::canary
