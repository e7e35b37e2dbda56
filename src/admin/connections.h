// The connections of the admin server: from accept to close, one request at a time. Owned by the Server, used on its
// thread only. A connection's life is that of any client connection (lifecycle/client_connection.h), without TLS and
// tunnels:
//
//   idle -> reading -> serving -> idle ...    or, after the last answer, lingering -> closed
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admin/alarms.h"
#include "admin/door.h"
#include "admin/router.h"
#include "base/slot_map.h"
#include "lifecycle/client_connection.h"
#include "reactor/reactor.h"
#include "wire/h1_head.h"

namespace ebb::admin {

struct Limits {
  std::size_t connections = 64;
  wire::HeadLimits head = {.head_bytes = 8192, .target_bytes = 2048, .fields = 64};
  base::Duration request = std::chrono::seconds{10};  // from accept, or the last answer, to the end of a head
  base::Duration answer = std::chrono::seconds{10};   // from the head until its answer has reached the kernel
  base::Duration linger = std::chrono::seconds{1};    // for the client to take the last answer
};

class Connections final : public reactor::Handler {
 public:
  Connections(reactor::Reactor& reactor, std::shared_ptr<Door> door, Router& router, const Limits& limits);

  void set_address(const base::Address& listening) { listening_ = listening; }
  Alarms& alarms() { return alarms_; }

 private:
  using Life = lifecycle::ClientConnectionMachine;
  using State = Life::State;
  using Event = Life::Event;
  enum OwnerKind : std::uint32_t { connection_owner, alarm_owner };

  struct Connection {
    reactor::SocketId socket;
    base::Handle handle;
    Life life;
    base::Timer timer;
    std::string input;           // a head that is not complete yet, and requests that wait for their turn
    std::uint32_t exchange = 0;  // which request is being served: a late answer to another one is dropped
    bool answered = false;
    bool keep_alive = true;
    bool head_only = false;
    std::uint8_t minor = 1;
  };

  void on_accepted(reactor::Owner listener, reactor::SocketId socket, const base::Address& peer) override;
  void on_connected(reactor::Owner) override {}
  void on_received(reactor::Owner owner, base::Slice bytes) override;
  void on_peer_finished(reactor::Owner owner) override;
  void on_drained(reactor::Owner owner) override;
  void on_pumped(reactor::Owner, std::uint64_t, bool) override {}
  void on_failed(reactor::Owner owner, const base::Error& error) override;
  void on_timer(reactor::Owner owner) override;
  void on_round_end() override;

  void await_request(Connection& connection);
  void read_request(Connection& connection);
  void serve(Connection& connection);
  void refuse(Connection& connection, int status, std::string_view words);
  Respond respond_to(const Connection& connection);
  void answer(Connection& connection, const Answer& answer);
  void answer_sent(Connection& connection);
  void step(Connection& connection, Event event);
  void arm(Connection& connection, base::Duration delay);
  void close(Connection& connection);

  reactor::Reactor& reactor_;
  const std::shared_ptr<Door> door_;
  Router& router_;
  const Limits limits_;
  base::Address listening_;
  Alarms alarms_;
  base::SlotMap<Connection> connections_;
  std::vector<base::Handle> graves_;  // closed in this round
  wire::RequestHead head_;            // of the request that is being read; large, hence one for all
  wire::ResponseHead response_;
};

}  // namespace ebb::admin
