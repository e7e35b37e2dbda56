#include "admin/server.h"

#include <csignal>
#include <system_error>

namespace ebb::admin {
namespace {

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

bool Server::start(const base::Address& address, std::string& error) {
  if (!address.is_loopback()) {
    error = "admin address " + address.text() + " is not a loopback address; use 127.0.0.1 or [::1]";
    return false;
  }
  auto reactor = reactor::make_reactor(reactor::Kind::epoll, {}, error);
  if (!reactor) return false;
  reactor_ = std::move(*reactor);
  door_ = std::make_shared<Door>(*reactor_);
  connections_ = std::make_unique<Connections>(*reactor_, door_, router_, limits_);
  const auto listener = reactor_->listen(address, {});
  if (!listener) {
    error = "admin address " + address.text() + ": " + std::generic_category().message(listener.error().sys);
    return false;
  }
  address_ = reactor_->local_address(*listener);
  connections_->set_address(address_);
  thread_ = start_without_signals([this] { reactor_->run(*connections_); });
  return true;
}

Server::~Server() {
  if (door_ != nullptr) door_->shut();
  if (!thread_.joinable()) return;
  reactor_->stop();
  thread_.join();
}

}  // namespace ebb::admin
