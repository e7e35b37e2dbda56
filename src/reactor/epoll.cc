#include "reactor/epoll.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "reactor/token.h"

namespace ebb::reactor {

namespace {

constexpr int accepts_at_once = 64;  // then the sockets that are already here get their turn
constexpr std::uint32_t all_edges = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

int to_timeout(base::Duration at_most) {
  if (at_most == base::Duration::max()) return -1;
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(at_most).count();  // rounded up: a timer is never early
  return static_cast<int>(std::min<std::int64_t>(ms, 60'000));
}

}  // namespace

base::Result<std::unique_ptr<EpollReactor>> EpollReactor::make(const SocketLimits& limits) {
  auto reactor = std::make_unique<EpollReactor>(limits);
  const bool ready = reactor->epoll_ && reactor->mailbox_.descriptor() >= 0 &&
                     reactor->watch(reactor->mailbox_.descriptor(), EPOLLIN, mailbox_event, {}) &&
                     reactor->watch(reactor->datagrams_.descriptor(), EPOLLIN, datagram_event, {});
  if (!ready) return base::fail(base::Cause::resource_limit, "epoll_create1", errno);
  return reactor;
}

EpollReactor::EpollReactor(const SocketLimits& limits)
    : Loop(limits), epoll_(::epoll_create1(EPOLL_CLOEXEC)), receive_blocks_(blocks_) {}

EpollReactor::~EpollReactor() = default;

bool EpollReactor::watch(int descriptor, std::uint32_t events, EventKind kind, base::Handle handle) {
  epoll_event event = {.events = events, .data = {.u64 = Token{kind, handle}.packed()}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void EpollReactor::wait_and_serve() {
  const int count = ::epoll_wait(epoll_.get(), events_, events_at_once, to_timeout(longest_wait()));
  begin_round();
  for (int i = 0; i < count; ++i) serve_event(events_[i]);
  serve_ready();
  close_listeners();
}

void EpollReactor::serve_event(const epoll_event& event) {
  const Token token = Token::unpacked(event.data.u64);
  switch (static_cast<EventKind>(token.kind)) {
    case mailbox_event: mail_has_come(); return;
    case datagram_event: datagrams_.serve(*handler_); return;
    case listener_event: accept_some(ListenerId(token.handle), accepts_at_once); return;
    case socket_event:
      if (Socket* socket = sockets_.find(token.handle)) serve_socket_event(*socket, event.events);
      return;
  }
}

void EpollReactor::serve_ready() {
  // Those that become ready while we serve wait for the next round: nobody is starved.
  base::List<Socket> turn;
  turn.splice_back(ready_);
  while (Socket* socket = turn.pop_front()) serve_input(socket->id);
}

void EpollReactor::serve_socket_event(Socket& socket, std::uint32_t events) {
  if (socket.origin == Origin::connecting) {
    serve_connect_event(socket, events);
    return;
  }
  const SocketId id = socket.id;
  note_edge(socket, events);
  if ((events & EPOLLOUT) != 0) serve_output(id);
  serve_input(id);
}

void EpollReactor::serve_connect_event(Socket& socket, std::uint32_t events) {
  const SocketId id = socket.id;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) {
    const int sys = pending_error(socket.fd());
    if (socket.closed_by_handler()) return bury(id);
    return report_failure(socket, error_of(sys != 0 ? sys : ECONNRESET, Origin::connecting, "connect"));
  }
  if ((events & EPOLLOUT) == 0) return;
  socket.origin = Origin::connected;
  socket.writable = true;
  note_edge(socket, events);
  if (!socket.closed_by_handler()) handler_->on_connected(socket.owner);
  serve_output(id);
  serve_input(id);
}

base::Result<SocketId> EpollReactor::add_socket(Descriptor descriptor, Owner owner, Origin origin) {
  const SocketId id(sockets_.emplace());
  Socket& socket = *sockets_.find(id);
  socket.id = id;
  socket.descriptor = std::move(descriptor);
  socket.owner = owner;
  socket.origin = origin;
  socket.opened_seconds = whole_seconds(now());
  if (!watch(socket.fd(), all_edges, socket_event, id)) {
    const int sys = errno;  // fs.epoll.max_user_watches, or memory
    sockets_.erase(id);
    return base::fail(base::Cause::resource_limit, "epoll_ctl", sys);
  }
  return id;
}

base::Result<ListenerId> EpollReactor::prepare_listener(const base::Address& address, Owner owner) {
  return add_listener(EBB_TRY(open_listener(address, limits_, Blocking::no)), owner);
}

base::Result<ListenerId> EpollReactor::listen_at(Descriptor descriptor, Owner owner) {
  const ListenerId id = EBB_TRY(add_listener(std::move(descriptor), owner));
  start_listener(id);
  return id;
}

base::Result<ListenerId> EpollReactor::add_listener(Descriptor descriptor, Owner owner) {
  const int number = descriptor.get();
  const ListenerId id(listeners_.emplace(std::move(descriptor), owner));
  if (!watch(number, 0, listener_event, id)) {
    const int sys = errno;
    listeners_.erase(id);
    return base::fail(base::Cause::resource_limit, "epoll_ctl", sys);
  }
  return id;
}

void EpollReactor::start_listener(ListenerId id) {
  Listener* listener = listeners_.find(id);
  if (listener == nullptr || listener->closing) return;
  listener->started = true;
  // Level-triggered: a queue longer than one turn shows up again in the next round by itself.
  accept_events(id, *listener, EPOLLIN);
}

void EpollReactor::accept_events(ListenerId id, const Listener& listener, std::uint32_t events) {
  epoll_event event = {.events = events, .data = {.u64 = Token{listener_event, id}.packed()}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, listener.descriptor.get(), &event);
}

base::Address EpollReactor::local_address(ListenerId listener) const {
  const Listener* found = listeners_.find(listener);
  return found == nullptr ? base::Address() : local_address_of(found->descriptor.get());
}

base::Address EpollReactor::local_address(SocketId socket) const {
  const auto* found = sockets_.find(socket);
  return found == nullptr ? base::Address() : local_address_of(found->fd());
}

void EpollReactor::accept_some(ListenerId id, int most) {
  for (int i = 0; i < most; ++i) {
    Listener* listener = listeners_.find(id);
    if (listener == nullptr) return;
    sockaddr_storage peer;
    socklen_t size = sizeof(peer);
    Descriptor descriptor(
        ::accept4(listener->descriptor.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!descriptor) {
      if (errno == EAGAIN) return;
      if (!descriptors_exhausted(errno)) continue;  // an error of that one connection (accept(2)), which is gone now
      accept_events(id, *listener, 0);
      pause_accepting();
      return;
    }
    const base::Result<SocketId> socket = add_socket(std::move(descriptor), {}, Origin::accepted);
    if (!socket) {
      counters_.accepts_failed += 1;
      continue;
    }
    handler_->on_accepted(listener->owner, *socket, base::Address::from(reinterpret_cast<sockaddr*>(&peer)));
  }
}

void EpollReactor::resume_accepting() {
  listeners_.for_each([this](base::Handle id, Listener& listener) {
    if (listener.started) accept_events(ListenerId(id), listener, EPOLLIN);
  });
}

void EpollReactor::close_listener(ListenerId listener) {
  Listener* found = listeners_.find(listener);
  if (found == nullptr || found->closing) return;
  found->closing = true;
  closing_listeners_.push_back(listener);
}

void EpollReactor::close_listeners() {
  if (closing_listeners_.empty()) return;
  for (const ListenerId id : std::exchange(closing_listeners_, {})) {
    Listener& listener = *listeners_.find(id);
    if (listener.close_at == base::Instant::max()) {
      ignore_arrivals(listener.descriptor.get());
      listener.close_at = now() + handshake_time;
    }
    const base::Instant close_at = listener.close_at;
    accept_some(id, queue_longest);
    if (now() < close_at) {
      closing_listeners_.push_back(id);
      continue;
    }
    const Owner owner = listeners_.find(id)->owner;
    listeners_.erase(id);
    handler_->on_listener_closed(owner);
  }
  if (!closing_listeners_.empty()) post([] {});  // another round, soon
}

base::Result<SocketId> EpollReactor::connect(const base::Address& address, Owner owner) {
  Descriptor descriptor = EBB_TRY(open_outgoing(address, limits_, Blocking::no));
  // Connect first: an unconnected socket in an epoll set reports a hang-up at once.
  if (::connect(descriptor.get(), address.raw(), address.raw_size()) != 0 && errno != EINPROGRESS) {
    return std::unexpected(error_of(errno, Origin::connecting, "connect"));
  }
  const SocketId id = EBB_TRY(add_socket(std::move(descriptor), owner, Origin::connecting));
  sockets_.find(id)->writable = false;
  return id;
}

void EpollReactor::list_own(Holdings& out) {
  out.push_back({.descriptor = epoll_.get()});
  list_listeners(listeners_, out);
}

bool EpollReactor::holds(SocketId id, Owner owner) const {
  const Socket* socket = sockets_.find(id);
  return socket != nullptr && !socket->closed_by_handler() && socket->owner == owner;
}

}  // namespace ebb::reactor
