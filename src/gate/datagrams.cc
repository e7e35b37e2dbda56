#include "gate/datagrams.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "gate/balance.h"
#include "gate/bind_overlap.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;
using reactor::DatagramSent;

// ---- listeners ---------------------------------------------------------------------------------------------------

std::string cannot_open(const routes::ListenerModel& listener, const base::Error& error) {
  return "listener " + listener.name + " at " + listener.bind.text() + " cannot be opened: " + error.where + ": " +
         std::strerror(error.sys);
}

void Datagrams::prepare_listeners(const routes::Snapshot& next, std::vector<std::string>& problems) {
  const std::vector<Handle> open = open_listeners();
  for (const routes::Listener& wanted : next.listeners()) {
    if (wanted.model.protocol != routes::Protocol::udp) continue;
    const auto has_address = [&](Handle handle) { return listeners_.find(handle)->bind == wanted.model.bind; };
    if (std::none_of(open.begin(), open.end(), has_address)) prepare_listener(wanted.model, problems);
  }
}

void Datagrams::prepare_listener(const routes::ListenerModel& wanted, std::vector<std::string>& problems) {
  const Handle handle = listeners_.emplace(Listener{.bind = wanted.bind, .socket = {}, .prepared = true});
  const auto opened = core_.reactor.bind_datagrams(wanted.bind, {owner_datagrams, handle});
  if (opened) {
    listeners_.find(handle)->socket = *opened;
    return;
  }
  problems.push_back(cannot_open(wanted, opened.error()));
  listeners_.erase(handle);
}

void Datagrams::abandon_listeners() {
  for (const Handle handle : listeners(true)) close_listener(handle);
}

void Datagrams::change_listeners(const LocalSnapshot& snapshot) {
  std::vector<Handle> unlisted = open_listeners();
  const std::vector<Handle> prepared = listeners(true);
  unlisted.insert(unlisted.end(), prepared.begin(), prepared.end());
  for (const routes::Listener& wanted : snapshot.snapshot().listeners()) {
    if (wanted.model.protocol != routes::Protocol::udp) continue;
    const auto known = std::find_if(unlisted.begin(), unlisted.end(),
                                    [&](Handle handle) { return listeners_.find(handle)->bind == wanted.model.bind; });
    if (known == unlisted.end()) continue;  // prepare_listeners() has opened all that were missing
    Listener& listener = *listeners_.find(*known);
    listener.label = wanted.label;
    listener.backend = wanted.backend;
    listener.prepared = false;
    unlisted.erase(known);
  }
  for (const Handle handle : unlisted) close_listener(handle);
}

void Datagrams::close_listener(Handle handle) {
  for (const Handle flow : flows_.of_listener(handle)) end(*flows_.find(flow), Event::ended, Cause::listener_removed);
  core_.reactor.close_datagrams(listeners_.find(handle)->socket);
  listeners_.erase(handle);
}

void Datagrams::close_listeners() {
  for (const Handle handle : open_listeners()) close_listener(handle);
}

std::vector<Handle> Datagrams::listeners(bool prepared) const {
  std::vector<Handle> found;
  listeners_.for_each([&](Handle handle, const Listener& listener) {
    if (listener.prepared == prepared) found.push_back(handle);
  });
  return found;
}

Handle Datagrams::covering(const base::Address& address) const {
  for (const Handle handle : open_listeners()) {
    if (bind_covers(listeners_.find(handle)->bind, address)) return handle;
  }
  return {};
}

// ---- datagrams ---------------------------------------------------------------------------------------------------

void Datagrams::on_datagram(base::Owner owner, const reactor::Datagram& datagram) {
  if (owner.kind == owner_datagrams) return from_client(owner.handle, datagram);
  from_endpoint(owner.handle, datagram);
}

void Datagrams::from_client(Handle handle, const reactor::Datagram& datagram) {
  EBB_FIND(listener, listeners_.find(handle));
  if (listener.prepared) {
    if (const Handle open = covering(listener.bind)) from_client(open, datagram);
    return;
  }
  core_.counters.datagrams.client_in += 1;
  core_.counters.client_bytes_in += datagram.bytes.size();
  if (core_.stopping) {
    core_.counters.datagrams.while_stopping += 1;
    return;
  }
  const FlowKey key{handle, datagram.peer, datagram.local};
  Flow* known = flows_.find(key);
  Flow& flow = known != nullptr ? *known : begin(key);
  flow.bytes_received += datagram.bytes.size();
  keep_alive(flow, listener);
  pass_on(flow, listener, datagram.bytes);
}

void Datagrams::from_endpoint(Handle handle, const reactor::Datagram& datagram) {
  core_.counters.datagrams.backend_in += 1;
  core_.counters.backend_bytes_in += datagram.bytes.size();
  EBB_FIND(flow, flows_.find(handle));  // it closes its sockets when it ends
  EBB_FIND(listener, listeners_.find(flow.key.listener));
  if (flow.until_answer == base::Duration{}) flow.until_answer = core_.reactor.now() - flow.started;
  flow.owed = false;
  const DatagramSent sent =
      core_.reactor.answer_datagram(listener.socket, datagram.bytes, flow.key.client, flow.key.local);
  if (sent == DatagramSent::sent) {
    core_.counters.datagrams.client_out += 1;
    core_.counters.client_bytes_out += datagram.bytes.size();
    flow.bytes_sent += datagram.bytes.size();
  }
  if (flow.life.is(State::finishing)) return finish(flow, Event::answered, Cause::shutdown);
  keep_alive(flow, listener);
}

Flow& Datagrams::begin(const FlowKey& key) {
  const std::size_t most = std::clamp<std::size_t>(core_.clients_max / 4, 1, flows_most);
  if (flows_.size() >= most) end(*flows_.least_recently_used(), Event::ended, Cause::flow_budget);
  Flow& flow = flows_.add(key);
  flow.timer.set_owner({owner_flow, flow.self});
  flow.started = core_.reactor.now();
  flow.started_wall = core_.reactor.clock().wall();
  return flow;
}

void Datagrams::keep_alive(Flow& flow, const Listener& listener) {
  flows_.use(flow);
  core_.arm(flow.timer, backend_of(listener).model.idle_timeout);
}

void Datagrams::pass_on(Flow& flow, const Listener& listener, std::string_view bytes) {
  // Twice: a refusal that is heard only now belongs to an earlier datagram, and this one has not left.
  for (int tries = 0; tries < 2; ++tries) {
    if (!place(flow, listener)) {
      core_.counters.datagrams.without_endpoint += 1;
      return;
    }
    const DatagramSent sent = core_.reactor.send_datagram(flow.path.socket, bytes);
    if (sent == DatagramSent::unreachable) {
      refuse(flow, Cause::backend_refused);
      continue;
    }
    if (sent == DatagramSent::sent) {
      flow.owed = true;
      core_.counters.datagrams.backend_out += 1;
      core_.counters.backend_bytes_out += bytes.size();
    }
    return;
  }
  core_.counters.datagrams.without_endpoint += 1;
}

// ---- endpoints ---------------------------------------------------------------------------------------------------

bool Datagrams::place(Flow& flow, const Listener& listener) {
  const std::uint64_t version = core_.endpoints->version();
  BackendView& view = core_.endpoints->view(core_.current->views[listener.backend]);
  const bool placed = flow.life.is(State::placed);
  if (placed && (flow.version == version || path_suits(flow, view))) {
    flow.version = version;
    return true;
  }
  flow.version = version;
  const routes::Backend& backend = backend_of(listener);
  const Handle chosen = choose(flow, view, backend.model);
  if (placed && chosen == flow.path.endpoint) return true;  // leaving, but there is no better one
  if (placed) withdraw(flow);
  if (!chosen) {
    if (flow.trouble == Cause::none || flow.trouble == Cause::endpoint_gone) flow.trouble = Cause::backend_empty;
    return false;
  }
  return open_path(flow, chosen, backend);
}

bool Datagrams::path_suits(const Flow& flow, const BackendView& view) {
  const LiveEndpoint* endpoint = core_.endpoints->find(flow.path.endpoint);
  return endpoint->standing() == lifecycle::Standing::chosen &&
         std::find(view.endpoints.begin(), view.endpoints.end(), flow.path.endpoint) != view.endpoints.end();
}

// One that refused is asked again only if it is alone: it may have come back.
Handle Datagrams::choose(const Flow& flow, BackendView& view, const routes::BackendModel& model) {
  Claim claim{.tried = std::span(&flow.refused_by, 1), .key = source_key(flow.key.client)};
  const Handle chosen = choose_endpoint(core_, view, model, claim);
  if (chosen) return chosen;
  claim.tried = {};
  return choose_endpoint(core_, view, model, claim);
}

bool Datagrams::open_path(Flow& flow, Handle handle, const routes::Backend& backend) {
  EBB_FIND(endpoint, core_.endpoints->find(handle), false);
  if (!core_.endpoints->attach(endpoint)) {
    flow.trouble = Cause::backend_empty;
    return false;
  }
  const auto opened = core_.reactor.connect_datagrams(endpoint.address, {owner_flow, flow.self});
  if (!opened) {
    core_.endpoints->detach(handle);
    flow.trouble = opened.error().cause;
    if (flow.trouble != Cause::resource_limit) flow.refused_by = handle;
    return false;
  }
  endpoint.connections += 1;
  flow.path = {*opened, handle};
  flow.backend = backend.label;
  const bool moved = flow.paths_used > 0 && handle != flow.refused_by;
  if (moved) core_.counters.datagrams.flows_moved[static_cast<std::size_t>(flow.trouble)] += 1;
  if (flow.paths_used < UINT16_MAX) flow.paths_used += 1;
  flow.trouble = Cause::none;
  step(flow, Event::chosen);
  return true;
}

// The old socket stays open until the next move: answers may be on their way.
void Datagrams::withdraw(Flow& flow) {
  close_path(flow.former);
  core_.endpoints->detach(flow.path.endpoint);
  flow.former = std::exchange(flow.path, {});
  flow.trouble = Cause::endpoint_gone;
  step(flow, Event::withdrawn);
}

void Datagrams::refuse(Flow& flow, Cause cause) {
  flow.refused_by = flow.path.endpoint;
  flow.trouble = cause;
  core_.endpoints->detach(flow.path.endpoint);
  close_path(flow.path);
  step(flow, Event::refused);
}

void Datagrams::close_path(FlowPath& path) {
  if (!path.socket) return;
  core_.reactor.close_datagrams(path.socket);
  const Handle handle = std::exchange(path, {}).endpoint;
  EBB_FIND(endpoint, core_.endpoints->find(handle));
  endpoint.connections -= 1;
  core_.endpoints->settle(handle);
}

void Datagrams::on_unreachable(Handle handle, reactor::DatagramSocketId socket, Cause cause) {
  EBB_FIND(flow, flows_.find(handle));
  if (socket == flow.former.socket) return close_path(flow.former);
  if (flow.life.is(State::finishing)) return finish(flow, Event::refused, cause);
  refuse(flow, cause);
}

// ---- the end -----------------------------------------------------------------------------------------------------

void Datagrams::on_timer(Handle handle) {
  EBB_FIND(flow, flows_.find(handle));
  if (flow.life.is(State::finishing)) return finish(flow, Event::deadline, Cause::shutdown);
  end(flow, Event::deadline, flow.trouble == Cause::none ? Cause::flow_idle_timeout : flow.trouble);
}

void Datagrams::drain() {
  for (const Handle handle : flows_.all()) {
    Flow& flow = *flows_.find(handle);
    if (!flow.life.is(State::placed) || !flow.owed) {
      end(flow, Event::ended, Cause::shutdown);
      continue;
    }
    step(flow, Event::stopping);
    core_.arm(flow.timer, linger_time);
  }
  if (flows_.size() == 0) close_listeners();
}

void Datagrams::close_all(Cause cause) {
  for (const Handle handle : flows_.all()) end(*flows_.find(handle), Event::ended, cause);
  close_listeners();
}

std::uint32_t Datagrams::end_of_endpoint(Handle endpoint, Cause cause) {
  std::uint32_t ended = 0;
  for (const Handle handle : flows_.all()) {
    Flow& flow = *flows_.find(handle);
    if (flow.former.endpoint == endpoint) close_path(flow.former);
    if (!flow.path.socket || flow.path.endpoint != endpoint) continue;
    finish(flow, Event::ended, cause);
    ended += 1;
  }
  return ended;
}

// Of a flow that waited for its last answer: the sockets were still needed to send that.
void Datagrams::finish(Flow& flow, Event event, Cause cause) {
  end(flow, event, cause);
  if (core_.stopping && flows_.size() == 0) close_listeners();
}

void Datagrams::step(Flow& flow, Event event) {
  if (!flow.life.step(event)) broken_.add(core_, flow.self);
}

void Datagrams::end_broken() {
  for (const Handle handle : broken_.take()) {
    if (Flow* flow = flows_.find(handle)) finish(*flow, Event::ended, Cause::internal);
  }
}

void Datagrams::end(Flow& flow, Event event, Cause cause) {
  step(flow, event);
  record(flow, cause);
  if (flow.path.socket) core_.endpoints->detach(flow.path.endpoint);
  close_path(flow.path);
  close_path(flow.former);
  flows_.erase(flow.self);
}

void Datagrams::record(const Flow& flow, Cause cause) {
  observe::ExchangeRecord record;
  record.listener = listeners_.find(flow.key.listener)->label;
  record.backend = flow.backend;
  const Handle last = flow.path.socket ? flow.path.endpoint : flow.refused_by ? flow.refused_by : flow.former.endpoint;
  if (const LiveEndpoint* endpoint = core_.endpoints->find(last)) {
    record.endpoint = endpoint->label;
    record.endpoint_address = endpoint->address;
  }
  record.tries = flow.paths_used;
  record.cause = cause;
  record.bytes_received = flow.bytes_received;
  record.bytes_sent = flow.bytes_sent;
  record.until_response = flow.until_answer;
  record.total = core_.reactor.now() - flow.started;
  core_.counters.record(record);
  if (core_.access_log == nullptr || core_.log_format == observe::LogFormat::off) return;

  record.client = flow.key.client;
  record.protocol = "UDP";
  record.started = flow.started_wall;
  observe::format_record(record, core_.log_format, core_.labels, core_.log_line);
  if (!core_.access_log->push(core_.log_line)) core_.counters.log_lines_dropped += 1;
}

bool Datagrams::owns(base::Owner owner, reactor::DatagramSocketId socket) {
  if (owner.kind == owner_datagrams) {
    const Listener* listener = listeners_.find(owner.handle);
    return listener != nullptr && listener->socket == socket;
  }
  const Flow* flow = flows_.find(owner.handle);
  return flow != nullptr && (flow->path.socket == socket || flow->former.socket == socket);
}

std::size_t Datagrams::without_deadline() const {
  std::size_t count = 0;
  flows_.for_each([&count](Handle, const Flow& flow) { count += flow.timer.armed() ? 0 : 1; });
  return count;
}

}  // namespace ebb::gate
