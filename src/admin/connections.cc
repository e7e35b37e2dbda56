#include "admin/connections.h"

#include <algorithm>

#include "admin/host_guard.h"
#include "admin/http_date.h"
#include "wire/h1_write.h"

namespace ebb::admin {

using reactor::CloseMode;
using reactor::Owner;
using reactor::Receive;

Connections::Connections(reactor::Reactor& reactor, std::shared_ptr<Door> door, Router& router, const Limits& limits)
    : reactor_(reactor), door_(std::move(door)), router_(router), limits_(limits), alarms_(reactor, alarm_owner) {}

void Connections::on_accepted(Owner, reactor::SocketId socket, const base::Address&) {
  if (connections_.size() >= limits_.connections) return reactor_.close(socket, CloseMode::drop);
  const base::Handle handle = connections_.emplace();
  Connection& connection = *connections_.find(handle);
  connection.socket = socket;
  connection.handle = handle;
  connection.timer.set_owner({connection_owner, handle});
  reactor_.adopt(socket, {connection_owner, handle});
  step(connection, Event::plain);
  await_request(connection);
}

void Connections::on_received(Owner owner, base::Slice bytes) {
  Connection* const connection = connections_.find(owner.handle);
  if (connection == nullptr || connection->life.is(State::lingering)) return;
  connection->input += bytes.view();
  if (connection->life.is(State::idle)) step(*connection, Event::bytes);
  if (connection->life.is(State::reading)) read_request(*connection);
}

void Connections::on_peer_finished(Owner owner) {
  Connection* const connection = connections_.find(owner.handle);
  if (connection == nullptr) return;
  // A client may finish its side behind its last request and still wait for the answer.
  if (connection->life.is(State::serving)) {
    connection->keep_alive = false;
  } else {
    close(*connection);
  }
}

void Connections::on_drained(Owner owner) {
  Connection* const connection = connections_.find(owner.handle);
  if (connection != nullptr && connection->life.is(State::serving) && connection->answered) answer_sent(*connection);
}

void Connections::on_failed(Owner owner, const base::Error&) {
  if (Connection* const connection = connections_.find(owner.handle)) close(*connection);
}

void Connections::on_timer(Owner owner) {
  if (owner.kind == alarm_owner) return alarms_.ring(owner.handle);
  Connection* const connection = connections_.find(owner.handle);
  if (connection == nullptr) return;
  // Half a head deserves to hear why; silence does not (RFC 9110 15.5.9).
  if (connection->life.is(State::reading)) return refuse(*connection, 408, "the request head did not arrive in time");
  close(*connection);
}

void Connections::on_round_end() {
  for (const base::Handle handle : graves_) connections_.erase(handle);
  graves_.clear();
}

void Connections::await_request(Connection& connection) {
  arm(connection, limits_.request);
  if (connection.input.empty()) return reactor_.receive(connection.socket, Receive::watchful);
  step(connection, Event::bytes);
  read_request(connection);
}

void Connections::read_request(Connection& connection) {
  connection.head_only = false;
  const wire::Parsed parsed = wire::parse_request(connection.input, limits_.head, head_);
  switch (parsed.status) {
    case wire::Parsed::Status::incomplete: return reactor_.receive(connection.socket, Receive::watchful);
    case wire::Parsed::Status::refused: return refuse(connection, base::facts(parsed.cause).status, parsed.why);
    case wire::Parsed::Status::complete: break;
  }
  serve(connection);
  // Behind serve(), which reads views into it. What is left waits; no more is received meanwhile.
  connection.input.erase(0, parsed.consumed);
}

// Answers come by way of the mailbox, never from inside dispatch(): pipelined requests do not pile up on the stack.
void Connections::serve(Connection& connection) {
  connection.head_only = head_.method == wire::Method::head;
  connection.minor = head_.minor;
  if (!means_this_machine(head_.authority, listening_)) {
    return refuse(connection, 421, "the Host field must name this machine: localhost or a loopback address");
  }
  if (head_.framing == wire::Framing::chunked || head_.content_length > 0) {
    return refuse(connection, 413, "no page takes a request body");
  }
  step(connection, Event::head_complete);
  reactor_.receive(connection.socket, Receive::paused);
  arm(connection, limits_.answer);
  connection.exchange += 1;
  connection.answered = false;
  connection.keep_alive = head_.keep_alive;

  const std::size_t question = std::min(head_.path.find('?'), head_.path.size());
  const wire::Field* const accept = head_.fields.find("accept");
  const Request request{.path = head_.path.substr(0, question),
                        .query = head_.path.substr(std::min(question + 1, head_.path.size())),
                        .accept = accept == nullptr ? std::string_view() : accept->value};
  router_.dispatch(head_.method, request, respond_to(connection));
}

Respond Connections::respond_to(const Connection& connection) {
  return [this, door = door_, handle = connection.handle, exchange = connection.exchange](Answer given) {
    door->post([this, handle, exchange, given = std::move(given)] {
      Connection* const found = connections_.find(handle);
      const bool waiting = found != nullptr && found->life.is(State::serving) && found->exchange == exchange;
      if (waiting && !found->answered) answer(*found, given);
    });
  };
}

// What is no request that we serve: said, and no more is read as a request.
void Connections::refuse(Connection& connection, int status, std::string_view words) {
  connection.keep_alive = false;
  answer(connection, plain_answer(status, words));
}

void Connections::answer(Connection& connection, const Answer& answer) {
  const std::string date = http_date(reactor_.clock().wall());
  response_.status = static_cast<std::uint16_t>(answer.status);
  response_.reason = wire::reason_phrase(answer.status);
  response_.has_length = true;
  response_.content_length = answer.body.size();
  response_.fields.clear();
  response_.fields.add({.name = "Date", .value = date});
  response_.fields.add({.name = "Content-Type", .value = answer.content_type});
  response_.fields.add({.name = "Cache-Control", .value = "no-store"});
  response_.fields.add({.name = "X-Content-Type-Options", .value = "nosniff"});

  base::Chain bytes;
  const wire::ResponsePlan plan{
      .client_minor = connection.minor, .keep_alive = connection.keep_alive, .extra = answer.extra};
  bytes.push(wire::write_response(reactor_.blocks(), response_, plan));
  if (!connection.head_only && !answer.body.empty()) bytes.push(reactor_.blocks().copy(answer.body));
  reactor_.send(connection.socket, std::move(bytes));
  connection.answered = true;
  if (connection.life.is(State::reading) || reactor_.unsent(connection.socket) == 0) answer_sent(connection);
}

void Connections::answer_sent(Connection& connection) {
  if (connection.keep_alive) {
    step(connection, Event::kept);
    return await_request(connection);
  }
  // RFC 9112 9.6: finish our side, then read and drop what still comes, lest a reset destroys the answer.
  step(connection, connection.life.is(State::reading) ? Event::refused : Event::last);
  connection.input.clear();
  reactor_.finish(connection.socket);
  reactor_.receive(connection.socket, Receive::watchful);
  arm(connection, limits_.linger);
}

void Connections::step(Connection& connection, Event event) {
  const bool has_row = connection.life.step(event);
  EBB_ASSERT(has_row);
}

void Connections::arm(Connection& connection, base::Duration delay) {
  reactor_.timers().arm(connection.timer, reactor_.now() + delay);
}

void Connections::close(Connection& connection) {
  if (connection.life.ended()) return;
  step(connection, Event::ended);
  connection.timer.disarm();
  reactor_.close(connection.socket, CloseMode::drop);
  graves_.push_back(connection.handle);
}

}  // namespace ebb::admin
