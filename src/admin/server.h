// The operator's server, on its own thread: the data plane never waits for it. It speaks HTTP/1.1 to operators and, on
// another listener, to endpoints that request their drain; and the runtime dialect on a unix socket. Owned by app.
// start() opens the configured listeners; the destructor closes everything and joins the thread.
//
// Below: serve/server (sockets, budgets, deadlines). Next: http_session (bytes to requests), router (requests to
// handlers), pages and api (answers); command_session (lines to commands).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "admin/command_session.h"
#include "admin/http_session.h"
#include "admin/router.h"
#include "observe/audit.h"
#include "reactor/epoll.h"
#include "serve/server.h"

namespace ebb::admin {

struct Openings {
  Access admin = {};         // without an address: none
  Access self_drain = {};    // for endpoints
  std::string runtime = {};  // path of a unix socket; "": none
};

class Server {
 public:
  explicit Server(Limits limits = {}) : limits_(limits) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Call before start(). Handlers and commands run on the admin thread.
  void add(wire::Method method, std::string path, admin::Handler handler) {
    router_.add(method, std::move(path), std::move(handler));
  }
  void add(std::string path, admin::Handler handler) { add(wire::Method::get, std::move(path), std::move(handler)); }
  void add_for_endpoints(wire::Method method, std::string path, admin::Handler handler) {
    endpoint_router_.add(method, std::move(path), std::move(handler));
  }
  void set_commands(RunCommand run) { run_command_ = std::move(run); }
  const Router& router() const { return router_; }

  // False: `error` says why.
  bool start(const Openings& openings, std::string& error);
  base::Address address() const { return address_; }  // with the actual port for 0
  base::Address self_drain_address() const { return self_drain_address_; }

  // For handlers, after start().
  const std::shared_ptr<serve::Door>& door() const { return serve_->door(); }
  serve::Alarms& alarms() { return serve_->alarms(); }
  base::WallTime now() const { return reactor_->clock().wall(); }
  base::Instant monotonic() const { return reactor_->now(); }

  // On the admin thread; see serve::Server.
  std::uint64_t missing_transitions() const { return serve_->missing_transitions(); }

  // For the self-audit, on the admin thread: all at once, since there are few.
  void read_book(observe::Claims& out);

 private:
  friend struct MissingRow;
  bool open_http(const Access& access, Router& router, base::Address& opened, std::string& error);
  bool open_runtime(const std::string& path, std::string& error);

  const Limits limits_;
  Router router_;
  Router endpoint_router_;
  RunCommand run_command_;
  std::unique_ptr<reactor::EpollReactor> reactor_;
  std::vector<std::unique_ptr<HttpDesk>> desks_;  // of the listeners
  std::unique_ptr<serve::Server> serve_;          // after the reactor, whose timers and blocks it uses
  std::optional<std::uint32_t> runtime_;          // the number of the service
  base::Address address_;
  base::Address self_drain_address_;
  std::thread thread_;
};

}  // namespace ebb::admin
