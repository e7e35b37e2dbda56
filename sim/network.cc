#include "sim/network.h"

#include <algorithm>
#include <utility>

namespace ebb::sim {

namespace {

std::uint64_t number(EndId end) { return end.slot; }

}  // namespace

reactor::SocketLimits patient_limits() {
  return {.user_timeout = seconds{120},
          .keepalive_idle = seconds{120},
          .keepalive_interval = seconds{10},
          .keepalive_probes = 9};
}

// ---- links -----------------------------------------------------------------------------------------------------

Link Network::draw_link() {
  if (link_is_fixed_) return fixed_link_;
  base::Rng& rng = world_.rng();
  Link link;
  link.latency = world_.draw(microseconds{20}, milliseconds{1});
  if (!nasty_) return link;
  if (rng.chance(150)) link.latency = world_.draw(milliseconds{1}, milliseconds{20});
  if (rng.chance(500)) link.jitter = link.latency * 2;
  if (rng.chance(300)) link.gap = world_.draw(microseconds{1}, microseconds{200});
  if (rng.chance(500)) link.segment_max = static_cast<std::uint32_t>(rng.between(200, 1460));
  if (rng.chance(350)) link.crumbs = static_cast<std::uint32_t>(rng.between(1, 400));
  if (rng.chance(400)) link.send_buffer = static_cast<std::uint32_t>(rng.between(1, 8)) * 512;
  if (rng.chance(400)) link.receive_buffer = static_cast<std::uint32_t>(rng.between(1, 8)) * 512;
  return link;
}

// ---- listening -------------------------------------------------------------------------------------------------

PortId Network::listen(const base::Address& address, Watcher& watcher, base::Handle tag, std::uint32_t backlog) {
  const PortId id(ports_.emplace(Port{{}, address, &watcher, tag, backlog, {}}));
  ports_.find(id)->self = id;
  port_order_.push_back(id);
  world_.note("listen", id.slot, address.port());
  return id;
}

bool Network::waiting(PortId id) const {
  const Port* port = ports_.find(id);
  return port != nullptr && !port->queue.empty();
}

EndId Network::accept(PortId id, Watcher& watcher, base::Handle tag, const reactor::SocketLimits& limits) {
  Port* port = ports_.find(id);
  EBB_ASSERT(port != nullptr && !port->queue.empty());
  const EndId end_id = port->queue.front();
  port->queue.pop_front();
  End& end = get(end_id);
  end.watcher = &watcher;
  end.tag = tag;
  end.limits = limits;
  world_.note("accept", number(end_id));
  tell(end);  // bytes, FIN or RST may have come while it waited
  return end_id;
}

std::size_t Network::close_port(PortId id) {
  Port* port = ports_.find(id);
  EBB_ASSERT(port != nullptr);
  const std::size_t count = port->queue.size();
  for (const EndId waiting : port->queue) {
    send_reset(get(waiting));
    erase(waiting);
  }
  world_.note("close port", id.slot);
  std::erase(port_order_, id);
  ports_.erase(id);
  return count;
}

// SO_REUSEPORT: the kernel spreads connections over the sockets of one address by hash; here by chance.
Network::Port* Network::choose_port(const base::Address& address, bool& known) {
  std::vector<PortId> found;
  for (const PortId id : port_order_)
    if (ports_.find(id)->address == address) found.push_back(id);
  known = !found.empty();
  if (found.empty()) return nullptr;
  Port* port = ports_.find(found[world_.rng().below(found.size())]);
  return port->queue.size() < port->backlog ? port : nullptr;  // full: the SYN is dropped, not refused
}

// ---- connecting ------------------------------------------------------------------------------------------------

Network::End& Network::make_end(Watcher* watcher, base::Handle tag, const reactor::SocketLimits& limits,
                                const Link& link) {
  const EndId id(ends_.emplace());
  End& end = *ends_.find(id);
  end.self = id;
  end.watcher = watcher;
  end.tag = tag;
  end.limits = limits;
  end.link = link;
  end.crumbs_left = link.crumbs;
  opened_ += 1;
  return end;
}

EndId Network::connect(const base::Address& from, const base::Address& to, Watcher& watcher, base::Handle tag,
                       const reactor::SocketLimits& limits) {
  End& end = make_end(&watcher, tag, limits, draw_link());
  end.from = from;
  end.remote = to;
  world_.note("connect", number(end.self), to.port());
  const EndId id = end.self;
  // TCP_USER_TIMEOUT bounds SYN retransmission too (net/ipv4/tcp_timer.c, tcp_write_timeout).
  world_.after(limits.user_timeout, [this, id] {
    if (End* waiting = ends_.find(id); waiting != nullptr && waiting->state == State::connecting)
      die(*waiting, ETIMEDOUT);
  });
  send_syn(id, 0);
  return id;
}

void Network::send_syn(EndId client, int attempt) {
  world_.after(get(client).link.latency, [this, client, attempt] { syn_arrives(client, attempt); });
}

void Network::syn_arrives(EndId client_id, int attempt) {
  End* client = ends_.find(client_id);
  if (client == nullptr || client->state != State::connecting || client->orphan) return;
  const Way way = way_to(client->remote);
  if (way == Way::swallows) return syn_lost(client_id, attempt);
  bool known = false;
  Port* port = way == Way::unreachable ? nullptr : choose_port(client->remote, known);
  if (port == nullptr && !known) {
    const int refusal = way == Way::unreachable ? EHOSTUNREACH : ECONNREFUSED;
    world_.after(client->link.latency, [this, client_id, refusal] {
      End* end = ends_.find(client_id);
      if (end != nullptr && end->state == State::connecting) die(*end, refusal);
    });
    return;
  }
  if (port == nullptr) return syn_lost(client_id, attempt);
  End& server = make_end(nullptr, {}, {}, client->link);
  client = ends_.find(client_id);
  server.state = State::open;
  server.peer = client_id;
  server.from = client->remote;
  server.remote = client->from;
  client->peer = server.self;
  port->queue.push_back(server.self);
  port->watcher->on_port_changed(port->tag);
  world_.after(client->link.latency, [this, client_id] { answer_to_syn(client_id, 0); });
}

// Tried again after 1, 2, 4 ... seconds.
void Network::syn_lost(EndId client_id, int attempt) {
  world_.after(seconds{1LL << std::min(attempt, 6)}, [this, client_id, attempt] {
    End* end = ends_.find(client_id);
    if (end != nullptr && end->state == State::connecting) send_syn(client_id, attempt + 1);
  });
}

void Network::answer_to_syn(EndId client_id, int attempt) {
  End* client = ends_.find(client_id);
  if (client == nullptr || client->state != State::connecting) return;
  if (client->dark) {
    world_.after(seconds{1LL << std::min(attempt, 6)},
                 [this, client_id, attempt] { answer_to_syn(client_id, attempt + 1); });
    return;
  }
  client->state = State::open;
  world_.note("connected", number(client_id), number(client->peer));
  tell(*client);
  transmit(*client);
}

// ---- what a process sees ---------------------------------------------------------------------------------------

const Network::End& Network::get(EndId id) const {
  const End* end = ends_.find(id);
  EBB_ASSERT(end != nullptr);
  return *end;
}
Network::End& Network::get(EndId id) {
  End* end = ends_.find(id);
  EBB_ASSERT(end != nullptr);
  return *end;
}

bool Network::open(EndId id) const { return get(id).state == State::open; }
int Network::error(EndId id) const { return get(id).error; }
bool Network::finished(EndId id) const { return get(id).input_finished && get(id).input.empty(); }
bool Network::finish_seen(EndId id) const { return get(id).input_finished; }

bool Network::deserted(EndId id) const {
  const End* peer = ends_.find(get(id).peer);
  return peer == nullptr || peer->state == State::dead || peer->finish_wanted || peer->released;
}
std::size_t Network::readable(EndId id) const { return get(id).input.size(); }
const base::Address& Network::remote(EndId id) const { return get(id).remote; }
void Network::set_tag(EndId id, base::Handle tag) { get(id).tag = tag; }

// Time-outs come after 0.4, 0.8, 1.6 ... seconds: a tail-loss probe, then the back-off (measured on a LAN).
reactor::TcpFacts Network::facts(EndId id) const {
  const End& end = get(id);
  reactor::TcpFacts facts{.acknowledged = end.acknowledged, .timeout = milliseconds{200}};
  if (end.in_flight == 0 && (!end.dark || end.output.empty())) {
    if (end.dark && world_.now() >= end.asked) {
      facts.silence = world_.now() - end.asked;
      facts.probes = 1 + static_cast<std::uint32_t>(facts.silence / seconds{1});
    }
    return facts;
  }
  facts.unacknowledged = 1;
  facts.silence = world_.now() - end.progress;
  for (; facts.silence >= 2 * facts.timeout; facts.timeout *= 2) facts.timeouts += 1;
  return facts;
}

void Network::ask_peer(EndId id, bool ask) {
  End& end = get(id);
  end.asked = ask ? world_.now() : Instant::max();
  // A peer that went while nothing passed is no longer known there.
  if (ask && !end.dark && end.state == State::open && ends_.find(end.peer) == nullptr)
    world_.after(2 * end.link.latency, [this, id] { reset_arrives(id); });
}

std::size_t Network::writable(EndId id) const {
  const End& end = get(id);
  if (end.state != State::open || end.finish_wanted) return 0;
  return end.link.send_buffer - std::min<std::size_t>(end.link.send_buffer, end.output.size());
}

std::size_t Network::send(EndId id, std::string_view bytes) {
  End& end = get(id);
  const std::size_t count = std::min(bytes.size(), writable(id));
  if (count == 0) return 0;
  if (end.output.empty()) end.progress = world_.now();
  end.output.push(bytes.substr(0, count));
  world_.note("send", number(id), count);
  transmit(end);
  return count;
}

std::string Network::read(EndId id, std::size_t most) {
  End& end = get(id);
  std::string bytes = end.input.pop(most);
  if (!bytes.empty()) {
    world_.note("read", number(id), bytes.size());
    if (End* peer = ends_.find(end.peer)) transmit(*peer);  // the window has opened
  }
  return bytes;
}

void Network::finish(EndId id) {
  End& end = get(id);
  if (end.finish_wanted || end.state == State::dead) return;
  world_.note("finish", number(id));
  end.finish_wanted = true;
  if (end.output.empty()) end.progress = world_.now();
  transmit(end);
}

void Network::release(EndId id) { get(id).released = true; }

void Network::close(EndId id) {
  End& end = get(id);
  if (end.state != State::open) {
    world_.note("close", number(id));
    if (end.state == State::connecting) send_reset(end);
    erase(id);
    return;
  }
  if (!end.input.empty()) {
    reset(id);
    return;
  }
  world_.note("close", number(id));
  end.watcher = nullptr;
  end.orphan = true;
  finish(id);
  bury_if_done(id);
}

void Network::reset(EndId id) {
  End& end = get(id);
  world_.note("reset", number(id));
  if (end.state != State::dead) send_reset(end);
  erase(id);
}

// ---- the wire --------------------------------------------------------------------------------------------------

Instant Network::next_arrival(End& end) {
  Duration delay = end.link.latency;
  if (end.link.jitter > Duration{}) delay += world_.draw({}, end.link.jitter);
  // At least a moment apart: events of one instant come in any order, but what travels on one path may not.
  end.last_arrival = std::max(end.last_arrival + std::max(end.link.gap, Duration{1}), world_.now() + delay);
  return end.last_arrival;
}

// Puts on the wire what the peer's window allows.
void Network::transmit(End& end) {
  if (end.state != State::open || end.doomed) return;
  arm_user_timeout(end);
  if (end.dark) return;
  const End* peer = ends_.find(end.peer);
  const std::size_t taken = end.in_flight + (peer == nullptr ? 0 : peer->input.size());
  std::size_t window = end.link.receive_buffer - std::min<std::size_t>(taken, end.link.receive_buffer);
  const EndId id = end.self;
  while (window > 0 && end.in_flight < end.output.size()) {
    std::size_t most = std::min<std::size_t>({window, end.output.size() - end.in_flight, end.link.segment_max});
    if (end.crumbs_left > 0) {
      most = std::min<std::size_t>(most, world_.rng().between(1, 3));
      end.crumbs_left -= static_cast<std::uint32_t>(std::min<std::size_t>(most, end.crumbs_left));
    }
    end.segments.push_back({static_cast<std::uint32_t>(most), end.received});
    end.in_flight += most;
    end.sent += most;
    window -= most;
    world_.at(next_arrival(end), [this, id, journey = end.journey] { segment_arrives(id, journey); });
  }
  if (end.finish_wanted && !end.finish_sent && end.in_flight == end.output.size()) {
    end.finish_sent = true;
    if (way_to(end.from) == Way::loses_fins) return;
    const Finish finish{id, end.peer, end.journey, end.received, end.sent};
    world_.at(next_arrival(end), [this, finish] { finish_arrives(finish); });
  }
}

void Network::segment_arrives(EndId sender_id, std::uint32_t journey) {
  End* sender = ends_.find(sender_id);
  if (sender == nullptr || sender->state != State::open || sender->journey != journey) return;
  if (sender->segments.empty()) return;
  const auto [size, confirms] = sender->segments.front();
  sender->segments.pop_front();
  sender->in_flight -= size;
  End* receiver = ends_.find(sender->peer);
  if (receiver == nullptr || receiver->state == State::dead || receiver->orphan) {
    sender->output.drop(size);
    return refuse_segment(*sender, receiver);
  }
  receiver->input.push(sender->output.view().substr(0, size));
  receiver->received += size;
  sender->output.drop(size);
  sender->progress = world_.now();
  confirm(*receiver, confirms);
  confirm_later(*receiver);
  world_.note("arrive", number(receiver->self), size);
  tell(*receiver);
  tell(*sender);
  transmit(*sender);
}

// Nobody reads there any more: the kernel answers with RST, behind what it has sent.
void Network::refuse_segment(End& sender, End* receiver) {
  const EndId id = sender.self;
  if (receiver == nullptr || receiver->state == State::dead) {
    world_.after(sender.link.latency, [this, id] { reset_arrives(id); });
    return;
  }
  if (std::exchange(receiver->doomed, true)) return;
  world_.at(next_arrival(*receiver), [this, id, orphan = receiver->self] {
    reset_arrives(id);
    if (End* end = ends_.find(orphan)) die(*end, ECONNRESET);
  });
}

// It is on its way even if the end that sent it has been reset since.
void Network::finish_arrives(const Finish& finish) {
  End* sender = ends_.find(finish.from);
  if (sender != nullptr && (sender->state != State::open || sender->journey != finish.journey)) return;
  if (sender != nullptr) sender->finish_arrived = true;
  End* receiver = ends_.find(finish.to);
  const bool whole = receiver != nullptr && receiver->received == finish.after;
  if (whole && receiver->state != State::dead && !receiver->dark) {
    receiver->input_finished = true;
    confirm(*receiver, finish.confirms);
    world_.note("fin arrives", number(receiver->self));
    tell(*receiver);
    bury_if_done(receiver->self);
  }
  bury_if_done(finish.from);
}

void Network::confirm(End& end, std::uint64_t received) { end.acknowledged = std::max(end.acknowledged, received); }

// A delayed acknowledgement: unless something is sent before, up to 40 ms pass in which a request that was read looks
// as if it had not arrived.
void Network::confirm_later(End& receiver) {
  if (std::exchange(receiver.acknowledgement_due, true)) return;
  const EndId id = receiver.self;
  world_.after(receiver.link.latency + world_.draw({}, milliseconds{40}), [this, id] {
    End* end = ends_.find(id);
    if (end == nullptr) return;
    end->acknowledgement_due = false;
    if (end->dark) return;
    if (End* sender = ends_.find(end->peer)) confirm(*sender, end->received);
  });
}

// The RST follows what is already on the wire; what the send buffer held is gone.
void Network::send_reset(End& end) {
  if (end.dark) return;
  const EndId peer = end.peer;
  // Segments in flight arrive before it: they are moved over now, since this end is about to go.
  End* receiver = ends_.find(peer);
  const std::size_t arriving = end.in_flight;
  if (receiver != nullptr && arriving > 0 && receiver->watcher != nullptr && world_.rng().chance(500))
    receiver->input.push(end.output.view().substr(0, arriving));
  world_.at(next_arrival(end), [this, peer] { reset_arrives(peer); });
}

void Network::reset_arrives(EndId receiver_id) {
  End* receiver = ends_.find(receiver_id);
  if (receiver == nullptr || receiver->dark) return;
  die(*receiver, receiver->input_finished ? EPIPE : ECONNRESET);
}

// ---- the end of an end -----------------------------------------------------------------------------------------

void Network::die(End& end, int error) {
  if (end.state == State::dead) return;
  world_.note("dies", number(end.self), static_cast<std::uint64_t>(error));
  end.state = State::dead;
  end.error = error;
  end.output.clear();
  end.segments.clear();
  end.in_flight = 0;
  // Linux keeps what was received readable behind the error; other readers lose it. Both must be survived.
  if (world_.rng().chance(500)) end.input.clear();
  if (end.orphan) {
    erase(end.self);
  } else {
    tell(end);
  }
}

void Network::tell(End& end) {
  if (end.watcher != nullptr) end.watcher->on_end_changed(end.tag);
}

// An orphan goes when its FIN has arrived: FIN_WAIT2 and TIME_WAIT have nothing left to say in this model.
void Network::bury_if_done(EndId id) {
  const End* end = ends_.find(id);
  if (end != nullptr && end->orphan && end->finish_arrived) erase(id);
}

void Network::erase(EndId id) {
  ends_.erase(id);
  closed_ += 1;
}

}  // namespace ebb::sim
