#include "gate/worker.h"

#include <algorithm>

#include "gate/bind_overlap.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using base::Owner;

namespace {

base::Rng seeded(const base::Clock& clock) {
  return base::Rng(static_cast<std::uint64_t>(clock.wall().time_since_epoch().count()));
}

}  // namespace

Worker::Worker(reactor::Reactor& reactor, const base::Labels& labels, const WorkerOptions& options)
    : core_{.reactor = reactor, .labels = labels, .random = seeded(reactor.clock())},
      clients_(core_),
      h2_clients_(core_),
      intake_(core_),
      bonds_(core_),
      exchanges_(core_),
      attempts_(core_),
      held_(core_),
      moves_(core_),
      request_path_(core_),
      response_path_(core_),
      tunnel_(core_),
      deadlines_(core_),
      records_(core_),
      mirrors_(core_),
      witnesses_(core_),
      backends_(core_),
      h2_backends_(core_),
      endpoints_(core_),
      health_(core_),
      checks_(core_),
      datagrams_(core_),
      relief_(core_) {
  core_.access_log = options.access_log;
  core_.clients_max = options.clients_max;
  core_.client_limits = options.client_limits;
  core_.siblings = options.siblings;
  core_.on_health_change = options.on_health_change;
  core_.on_relief = options.on_relief;
  core_.clients = &clients_;
  core_.h2_clients = &h2_clients_;
  core_.intake = &intake_;
  core_.bonds = &bonds_;
  core_.exchanges = &exchanges_;
  core_.attempts = &attempts_;
  core_.held = &held_;
  core_.moves = &moves_;
  core_.request_path = &request_path_;
  core_.response_path = &response_path_;
  core_.tunnel = &tunnel_;
  core_.deadlines = &deadlines_;
  core_.records = &records_;
  core_.backends = &backends_;
  core_.h2_backends = &h2_backends_;
  core_.endpoints = &endpoints_;
  core_.health = &health_;
  core_.checks = &checks_;
  core_.mirrors = &mirrors_;
  core_.witnesses = &witnesses_;
  core_.datagrams = &datagrams_;
}

Worker::~Worker() {
  if (!core_.current) return;
  drain();
  cut();
}

observe::LogFormat log_format(routes::LogFormat format) {
  switch (format) {
    case routes::LogFormat::off: return observe::LogFormat::off;
    case routes::LogFormat::json: return observe::LogFormat::json;
    case routes::LogFormat::common: return observe::LogFormat::common;
  }
  return observe::LogFormat::off;
}

std::vector<std::string> Worker::apply(Configuration configuration) {
  std::vector<std::string> problems = prepare(std::move(configuration));
  if (problems.empty()) {
    commit();
  } else {
    abandon();
  }
  return problems;
}

std::vector<std::string> Worker::prepare(Configuration configuration) {
  std::vector<std::string> problems;
  prepared_ = Prepared{.configuration = std::move(configuration), .listeners = {}};
  prepare_listeners(problems);
  datagrams_.prepare_listeners(*prepared_->configuration.snapshot, problems);
  return problems;
}

void Worker::abandon() {
  for (const Handle handle : std::exchange(prepared_->listeners, {})) {
    core_.reactor.close_listener((*listeners_.find(handle))->id);
  }
  datagrams_.abandon_listeners();
  prepared_.reset();
}

void Worker::commit() {
  SnapshotRef next(new LocalSnapshot(std::move(prepared_->configuration), snapshots_alive_));
  endpoints_.enter(*next);
  core_.current = next;
  core_.log_format = log_format(next->model().access_log.format);
  core_.counters.generation = next->snapshot().generation();
  core_.reactor.blocks().set_budget(next->model().limits.buffers);
  change_listeners(*next);
  datagrams_.change_listeners(*next);
  prepared_.reset();
  bury();
}

namespace {

std::shared_ptr<OpenListener> make_listener(const Configuration& configuration, std::size_t index) {
  const routes::Listener& listener = configuration.snapshot->listeners()[index];
  return std::make_shared<OpenListener>(OpenListener{.model = listener.model,
                                                     .label = listener.label,
                                                     .tls = configuration.tls[index],
                                                     .id = {},
                                                     .address = listener.model.bind,
                                                     .proxies = routes::AddressSet(listener.model.proxy_protocol_from),
                                                     .looks_at_names = configuration.snapshot->passes_tls_through()});
}

// Which of the wanted listeners a socket at this address serves: its own, or one that has its address in it.
std::optional<std::size_t> served_by(const base::Address& address, const std::vector<routes::Listener>& wanted) {
  std::optional<std::size_t> covering;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].model.protocol == routes::Protocol::udp) continue;  // of gate/datagrams
    if (wanted[i].model.bind == address) return i;
    if (bind_covers(wanted[i].model.bind, address)) covering = i;
  }
  return covering;
}

}  // namespace

void Worker::prepare_listeners(std::vector<std::string>& problems) {
  const Configuration& next = prepared_->configuration;
  const std::vector<routes::Listener>& wanted = next.snapshot->listeners();
  const std::vector<Handle> open = open_listeners();
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const routes::ListenerModel& model = wanted[i].model;
    if (model.protocol == routes::Protocol::udp) continue;  // of gate/datagrams
    const auto has_address = [&](Handle handle) { return (*listeners_.find(handle))->address == model.bind; };
    if (std::any_of(open.begin(), open.end(), has_address)) continue;
    const Handle handle = listeners_.emplace();
    const auto opened = core_.reactor.prepare_listener(model.bind, {owner_listener, handle});
    if (!opened) {
      problems.push_back(cannot_open(model, opened.error()));
      listeners_.erase(handle);
      continue;
    }
    std::shared_ptr<OpenListener>& place = *listeners_.find(handle);
    place = make_listener(next, i);
    place->id = *opened;
    place->prepared = true;
    prepared_->listeners.push_back(handle);
  }
}

// A listener is known by its address: one that stays keeps its socket and gets the new certificates; its connections
// keep what they began with. One that a wider listener has taken the place of keeps its socket too and serves that one:
// closing it would lose connections that are being made.
void Worker::change_listeners(const LocalSnapshot& snapshot) {
  const std::vector<routes::Listener>& wanted = snapshot.snapshot().listeners();
  for (const Handle handle : open_listeners()) {
    std::shared_ptr<OpenListener>& place = *listeners_.find(handle);
    const auto index = served_by(place->address, wanted);
    if (!index) {
      close_listener(handle);
      continue;
    }
    // Connections hold the old state; a new one takes its place for those to come.
    const std::shared_ptr<OpenListener> before = std::exchange(place, make_listener(snapshot.configuration(), *index));
    place->id = before->id;
    place->address = before->address;
    place->waiting = before->waiting;
  }
  for (const Handle handle : prepared_->listeners) {
    OpenListener& listener = **listeners_.find(handle);
    listener.prepared = false;
    core_.reactor.start_listener(listener.id);
  }
}

std::vector<Handle> Worker::open_listeners() const {
  std::vector<Handle> open;
  listeners_.for_each([&open](Handle handle, const std::shared_ptr<OpenListener>& listener) {
    if (!listener->closing && !listener->prepared) open.push_back(handle);
  });
  return open;
}

bool Worker::holds_listener(const base::Address& address) const {
  bool held = false;
  listeners_.for_each([&](Handle, const std::shared_ptr<OpenListener>& listener) {
    held = held || binds_overlap(listener->address, address);
  });
  return held;
}

void Worker::close_listener(Handle handle) {
  OpenListener& listener = **listeners_.find(handle);
  listener.closing = true;
  core_.reactor.close_listener(listener.id);
}

void Worker::on_listener_closed(Owner owner) { listeners_.erase(owner.handle); }

void Worker::drain(std::move_only_function<void()> when_quiet) {
  when_quiet_ = std::move(when_quiet);
  core_.stopping = true;
  for (const Handle handle : open_listeners()) close_listener(handle);
  clients_.close_idle(Cause::shutdown);
  datagrams_.drain();
  health_.stop();
  checks_.stop();
  mirrors_.end_all(Cause::shutdown);
  witnesses_.end({}, Cause::shutdown);
  bury();
  tell_if_quiet();
}

void Worker::tell_if_quiet() {
  if (when_quiet_ && quiet()) std::exchange(when_quiet_, {})();
}

void Worker::cut() {
  clients_.close_all(Cause::shutdown);
  datagrams_.close_all(Cause::shutdown);
  backends_.close_all(Cause::shutdown);
  bury();
}

void Worker::bury() {
  exchanges_.bury();
  h2_clients_.bury();
  clients_.bury();
  h2_backends_.bury();
  backends_.bury();
}

// False: there were none.
bool Worker::end_broken() {
  datagrams_.end_broken();
  const bool exchanges = exchanges_.end_broken();
  const bool clients = clients_.end_broken();
  const bool backends = backends_.end_broken();
  return exchanges || clients || backends;
}

// What one side sends may open the window of the other.
void Worker::send_scheduled() {
  while (h2_clients_.send_scheduled() || h2_backends_.send_scheduled()) {
  }
}

void Worker::on_round_end() {
  end_broken();
  health_.settle();
  held_.serve();
  clients_.read_queued();
  send_scheduled();
  // Connections that have closed with their last frames have left room.
  if (endpoints_.any_woken()) {
    held_.serve();
    send_scheduled();
  }
  // What broke meanwhile does not wait for the next round, which may be long in coming.
  if (end_broken()) send_scheduled();
  relief_.settle();
  bury();
  health_.arm();
  if (snapshots_alive_ == 1) endpoints_.forget_unlisted_views();
  if (core_.stopping) tell_if_quiet();
}

void Worker::on_accepted(Owner owner, reactor::SocketId socket, const base::Address& peer) {
  const std::shared_ptr<OpenListener>* listener = listeners_.find(owner.handle);
  if (listener != nullptr && (*listener)->prepared) listener = covering((*listener)->address);
  if (listener == nullptr) return core_.reactor.close(socket, reactor::CloseMode::reset);
  clients_.accept(*listener, socket, peer);
}

// A socket gets connections from when it is bound. Those of a change that was then refused belong to the open listener
// that has the address in it: without the narrower socket the kernel would have given them to that one.
const std::shared_ptr<OpenListener>* Worker::covering(const base::Address& address) const {
  for (const Handle handle : open_listeners()) {
    const std::shared_ptr<OpenListener>* listener = listeners_.find(handle);
    if (bind_covers((*listener)->address, address)) return listener;
  }
  return nullptr;
}

void Worker::on_connected(Owner owner) {
  if (owner.kind == owner_health) return health_.on_probe_connected(owner.handle);
  if (owner.kind == owner_check) return checks_.on_connected(owner.handle);
  backends_.on_connected(owner.handle);
}

void Worker::on_received(Owner owner, base::Slice bytes) {
  if (owner.kind == owner_client) return clients_.on_received(owner.handle, std::move(bytes));
  if (owner.kind == owner_check) return checks_.on_received(owner.handle, std::move(bytes));
  backends_.on_received(owner.handle, std::move(bytes));
}

void Worker::on_peer_finished(Owner owner) {
  if (owner.kind == owner_client) return clients_.on_peer_finished(owner.handle);
  if (owner.kind == owner_check) return checks_.on_peer_finished(owner.handle);
  backends_.on_peer_finished(owner.handle);
}

void Worker::on_end_in_sight(Owner owner) {
  if (owner.kind == owner_client) clients_.on_end_in_sight(owner.handle);
}

void Worker::on_drained(Owner owner) {
  if (owner.kind == owner_client) return clients_.on_drained(owner.handle);
  if (owner.kind == owner_check) return;  // nothing waits for it
  backends_.on_drained(owner.handle);
}

void Worker::on_pumped(Owner owner, std::uint64_t moved, bool done) {
  if (owner.kind == owner_client) return clients_.on_pumped(owner.handle, moved, done);
  backends_.on_pumped(owner.handle, moved, done);
}

void Worker::on_failed(Owner owner, const base::Error& error) {
  if (owner.kind == owner_client) return clients_.on_failed(owner.handle, error);
  if (owner.kind == owner_health) return health_.on_probe_failed(owner.handle);
  if (owner.kind == owner_check) return checks_.on_failed(owner.handle, error.cause);
  backends_.on_failed(owner.handle, error);
}

void Worker::on_datagram(Owner owner, const reactor::Datagram& datagram) { datagrams_.on_datagram(owner, datagram); }

void Worker::on_unreachable(Owner owner, reactor::DatagramSocketId socket, const base::Error& error) {
  datagrams_.on_unreachable(owner.handle, socket, error.cause);
}

void Worker::on_timer(Owner owner) {
  switch (owner.kind) {
    case owner_client: return clients_.on_timer(owner.handle);
    case owner_backend: return backends_.on_timer(owner.handle);
    case owner_exchange: return deadlines_.on_timer(owner.handle);
    case owner_flow: return datagrams_.on_timer(owner.handle);
    case owner_endpoint: return endpoints_.on_timer(owner.handle);
    case owner_health: return health_.on_timer(owner);
    case owner_check: return checks_.on_timer(owner.handle);
  }
}

observe::Counters Worker::collect() {
  observe::Counters copy = core_.counters;
  clients_.count_states(copy.client_connections);
  backends_.count_states(copy.backend_connections);
  copy.exchanges = exchanges_.size();
  copy.requests_held = endpoints_.held();
  copy.buffer_bytes = core_.reactor.blocks().bytes_in_use();
  copy.snapshots_alive = snapshots_alive_;
  reactor::Counters& loop = core_.reactor.counters();
  copy.loop_rounds = loop.loops;
  copy.receives = loop.receives;
  copy.sends = loop.sends;
  copy.spliced_bytes = loop.spliced_bytes;
  copy.accepts_failed = loop.accepts_failed;
  copy.datagrams.flows = datagrams_.size();
  copy.datagrams.overrun = loop.datagrams_overrun;
  copy.datagrams.truncated = loop.datagrams_truncated;
  copy.datagrams.unsent = loop.datagrams_unsent;
  copy.loop_lag_max = std::exchange(loop.lag_max, base::Duration{});
  return copy;
}

Audit Worker::audit() {
  Audit audit{.clients = clients_.size(),
              .backends = backends_.size(),
              .probes = health_.probes().size() + checks_.connections(),
              .exchanges = exchanges_.size(),
              .witnesses = witnesses_.of().size(),
              .mirrors = mirrors_.running(),
              .flows = datagrams_.size(),
              .endpoints = endpoints_.size(),
              .without_deadline = datagrams_.without_deadline(),
              .blocks_in_use = core_.reactor.blocks().bytes_in_use(),
              .snapshots = snapshots_alive_,
              .missing_transitions = core_.counters.missing_transitions,
              .lost_handles = core_.counters.lost_handles};
  BookCursor cursor;
  observe::Claims claims;
  while (read_book(cursor, claims)) {
  }
  for (const observe::Claim& claim : claims) audit.flaws += claim.flaw == observe::Claim::Flaw::none ? 0 : 1;
  // A connection with an exchange is ended by the exchange's deadline; an exchange that connects, by its connection's.
  clients_.for_each([&audit](Handle, ClientConnection& client) {
    const bool serves = client.exchange || (client.h2 && client.h2->exchanges > 0);
    if (!client.life.ended() && !client.timer.armed() && !serves) audit.without_deadline += 1;
  });
  backends_.for_each([&audit](Handle, BackendConnection& backend) {
    if (!backend.life.ended() && !backend.timer.armed() && !backend.exchange) audit.without_deadline += 1;
  });
  exchanges_.for_each([&audit](Handle, Exchange& exchange) {
    if (exchange.life.ended() || exchange.timer.armed()) return;
    const std::optional<Attempt>& attempt = exchange.attempt;
    if (!attempt || !attempt->end || !attempt->back->has_deadline(attempt->end)) audit.without_deadline += 1;
  });
  return audit;
}

}  // namespace ebb::gate
