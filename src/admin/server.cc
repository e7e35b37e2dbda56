#include "admin/server.h"

#include <algorithm>
#include <csignal>
#include <system_error>

#include "gate/book.h"
#include "serve/unix_listener.h"

namespace ebb::admin {
namespace {

// Of all answers that wait for their readers. Near it, those that have waited for longest are closed (connections.h);
// beyond it nothing more is received until some have left.
constexpr std::size_t answer_bytes_max = std::size_t{128} << 20;

// Signals are for the main thread.
std::thread start_without_signals(std::move_only_function<void()> body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

bool Server::start(const Openings& openings, std::string& error) {
  auto reactor = reactor::EpollReactor::make({});
  if (!reactor) {
    error = std::generic_category().message(reactor.error().sys);
    return false;
  }
  reactor_ = std::move(*reactor);
  reactor_->blocks().set_budget(answer_bytes_max);
  door_ = std::make_shared<serve::Door>(*reactor_);
  alarms_ = std::make_unique<serve::Alarms>(*reactor_, alarm);
  connections_ = std::make_unique<Connections>(*reactor_, door_, limits_, http_connection);
  runtime_ = std::make_unique<RuntimeConnections>(*reactor_, door_, run_command_, runtime_connection);
  if (openings.admin.address.valid() && !open_http(openings.admin, router_, address_, error)) return false;
  if (openings.self_drain.address.valid() &&
      !open_http(openings.self_drain, endpoint_router_, self_drain_address_, error)) {
    return false;
  }
  if (!openings.runtime.empty() && !open_runtime(openings.runtime, error)) return false;
  thread_ = start_without_signals([this] { reactor_->run(*this); });
  return true;
}

bool Server::open_http(const Access& access, Router& router, base::Address& opened, std::string& error) {
  error = why_too_open(access);
  if (!error.empty()) return false;
  const std::uint32_t number = connections_->add_listener(access, router);
  const auto listener = reactor_->listen(access.address, {http_listener, {number, 0}});
  if (!listener) {
    error = access.address.text() + ": " + std::generic_category().message(listener.error().sys);
    return false;
  }
  opened = reactor_->local_address(*listener);
  return true;
}

bool Server::open_runtime(const std::string& path, std::string& error) {
  auto listening = serve::open_unix_listener(path, error);
  if (!listening) return false;
  const auto listener = reactor_->listen_at(std::move(listening), {runtime_listener, {}});
  if (!listener) error = path + ": " + std::generic_category().message(listener.error().sys);
  return listener.has_value();
}

Server::~Server() {
  if (door_ != nullptr) door_->shut();
  if (!thread_.joinable()) return;
  reactor_->stop();
  thread_.join();
}

void Server::on_accepted(base::Owner listener, reactor::SocketId socket, const base::Address& peer) {
  if (listener.kind == runtime_listener) return runtime_->on_accepted(socket);
  connections_->on_accepted(listener.handle.slot, socket, peer);
}

void Server::on_received(base::Owner owner, base::Slice bytes) {
  if (owner.kind == runtime_connection) return runtime_->on_received(owner.handle, bytes.view());
  connections_->on_received(owner.handle, std::move(bytes));
}

void Server::on_peer_finished(base::Owner owner) {
  if (owner.kind == runtime_connection) return runtime_->on_peer_finished(owner.handle);
  connections_->on_peer_finished(owner.handle);
}

void Server::on_drained(base::Owner owner) {
  if (owner.kind == runtime_connection) return runtime_->on_drained(owner.handle);
  connections_->on_drained(owner.handle);
}

void Server::on_failed(base::Owner owner, const base::Error&) {
  if (owner.kind == runtime_connection) return runtime_->on_failed(owner.handle);
  connections_->on_failed(owner.handle);
}

void Server::on_timer(base::Owner owner) {
  if (owner.kind == alarm) return alarms_->ring(owner.handle);
  if (owner.kind == runtime_connection) return runtime_->on_timer(owner.handle);
  connections_->on_timer(owner.handle);
}

void Server::on_round_end() {
  connections_->on_round_end();
  runtime_->on_round_end();
}

void Server::read_book(observe::Claims& out) {
  using observe::ClaimKind;
  std::vector<std::pair<base::Owner, reactor::SocketId>> known;
  connections_->for_each_open([&known](base::Handle handle, reactor::SocketId socket) {
    known.push_back({{http_connection, handle}, socket});
  });
  runtime_->for_each_open([&known](base::Handle handle, reactor::SocketId socket) {
    known.push_back({{runtime_connection, handle}, socket});
  });
  const auto kind_of = [](const base::Owner& owner) {
    const bool http = owner.kind == http_connection || owner.kind == http_listener;
    return http ? ClaimKind::admin : ClaimKind::runtime;
  };
  const auto knows = [&known](const reactor::Holding& holding) {
    if (holding.kind == reactor::Holding::Kind::listener) return true;  // they stay as long as the server
    return std::ranges::any_of(
        known, [&holding](const auto& one) { return one.first == holding.owner && one.second == holding.socket; });
  };
  reactor::Holdings holdings;
  for (reactor::HoldingsCursor cursor; reactor_->read_holdings(cursor, holdings);) {
  }
  for (const reactor::Holding& holding : holdings) {
    out.push_back(gate::claim_of(holding, kind_of(holding.owner), knows(holding)));
  }
  for (const auto& [owner, socket] : known) {
    if (!reactor_->holds(socket, owner)) out.push_back(gate::claim_without_socket(kind_of(owner), socket, owner));
  }
}

}  // namespace ebb::admin
