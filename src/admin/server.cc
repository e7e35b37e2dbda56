#include "admin/server.h"

#include <algorithm>
#include <csignal>
#include <system_error>

#include "gate/book.h"
#include "serve/unix_listener.h"

namespace ebb::admin {
namespace {

// Budget for all answers that wait for their readers. Near it, the server closes those that have waited longest
// (serve/server.cc); above it, the server receives nothing until some have left.
constexpr std::size_t answer_bytes_max = std::size_t{128} << 20;

// The main thread handles signals.
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
  serve_ = std::make_unique<serve::Server>(*reactor_);
  if (openings.admin.address.valid() && !open_http(openings.admin, router_, address_, error)) return false;
  if (openings.self_drain.address.valid() &&
      !open_http(openings.self_drain, endpoint_router_, self_drain_address_, error)) {
    return false;
  }
  if (!openings.runtime.empty() && !open_runtime(openings.runtime, error)) return false;
  thread_ = start_without_signals([this] { reactor_->run(*serve_); });
  return true;
}

bool Server::open_http(const Access& access, Router& router, base::Address& opened, std::string& error) {
  error = why_too_open(access);
  if (!error.empty()) return false;
  HttpDesk& desk = *desks_.emplace_back(std::make_unique<HttpDesk>(access, router, limits_, *reactor_));
  const std::uint32_t number = serve_->offer(
      {.speak = [&desk](const serve::Arrival& arrival) { return std::make_unique<HttpSession>(desk, arrival); },
       .tls = access.tls,
       .budget = {.connections = limits_.connections,
                  .per_peer = limits_.connections_per_peer,
                  .reserve = limits_.connections_for_health},
       .times = {.first = limits_.request,
                 .request = limits_.request,
                 .rest_of_request = limits_.request,
                 .work = limits_.serve,
                 .write = limits_.answer,
                 .part = limits_.linger},
       .kept_max = limits_.head.head_bytes + limits_.body_bytes});
  const auto listener = serve_->listen(number, access.address);
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
  runtime_ = serve_->offer({.speak =
                                [this](const serve::Arrival& arrival) {
                                  return std::make_unique<CommandSession>(reactor_->blocks(), run_command_, arrival);
                                },
                            .budget = CommandSession::budget,
                            .times = CommandSession::time_limits});
  const auto listener = serve_->listen_at(*runtime_, std::move(listening));
  if (!listener) error = path + ": " + std::generic_category().message(listener.error().sys);
  return listener.has_value();
}

Server::~Server() {
  if (serve_ != nullptr) serve_->door()->shut();
  if (!thread_.joinable()) return;
  reactor_->stop();
  thread_.join();
}

void Server::read_book(observe::Claims& out) {
  using observe::ClaimKind;
  std::vector<std::pair<base::Owner, reactor::SocketId>> known;
  serve_->for_each_open([&known](base::Owner owner, reactor::SocketId socket) { known.emplace_back(owner, socket); });
  const auto kind_of = [this](const base::Owner& owner) {
    return serve::Server::number_of(owner) == runtime_ ? ClaimKind::runtime : ClaimKind::admin;
  };
  const auto knows = [&known](const reactor::Holding& holding) {
    if (holding.kind == reactor::Holding::Kind::listener) return true;  // these stay as long as the server
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
