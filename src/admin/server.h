// A small HTTP/1.1 server for the operator, on loopback and on a thread of its own: the data plane never waits for it.
// Owned by app. start() opens the listener; the destructor closes everything and joins the thread.
//
// Next: connections (bytes to requests), router (requests to handlers), pages (what is shown).
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "admin/alarms.h"
#include "admin/connections.h"
#include "admin/door.h"
#include "admin/router.h"
#include "reactor/reactor.h"

namespace ebb::admin {

class Server {
 public:
  explicit Server(Limits limits = {}) : limits_(limits) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Before start(). The handler runs on the admin thread.
  void add(std::string path, Handler handler) { router_.add(std::move(path), std::move(handler)); }
  // False: `error` says why. Only loopback addresses are accepted.
  bool start(const base::Address& address, std::string& error);
  base::Address address() const { return address_; }  // with the port that was given for 0

  // For handlers, after start().
  const std::shared_ptr<Door>& door() const { return door_; }
  Alarms& alarms() { return connections_->alarms(); }

 private:
  const Limits limits_;
  Router router_;
  std::unique_ptr<reactor::Reactor> reactor_;
  std::shared_ptr<Door> door_;
  std::unique_ptr<Connections> connections_;  // behind the reactor, whose timers and blocks it uses
  base::Address address_;
  std::thread thread_;
};

}  // namespace ebb::admin
