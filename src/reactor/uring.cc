#include "reactor/uring.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "reactor/token.h"

namespace ebb::reactor {

namespace {

constexpr unsigned submissions = 1024;
constexpr unsigned completions = 8192;
constexpr unsigned completions_at_once = 512;

std::string reason(int error) {
  switch (error) {
    case EPERM:
    case EACCES: return "io_uring is forbidden here (seccomp profile or kernel.io_uring_disabled)";
    case ENOSYS: return "the kernel has no io_uring, or the seccomp profile hides it";
    case ENOMEM: return "not enough lockable memory for io_uring (RLIMIT_MEMLOCK)";
    case EINVAL: return "the kernel's io_uring is too old (6.1 is needed)";
    default: return std::string("io_uring cannot be set up: ") + std::strerror(error);
  }
}

// DEFER_TASKRUN (6.1): completions are worked off only when we wait, never in the middle of our own code; and with it
// come multishot accept and receive and buffer rings (5.19, 6.0). R_DISABLED: the thread that enables the ring, not
// the one that makes it, becomes its single issuer.
int make_ring(io_uring& ring) {
  io_uring_params params = {};
  params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_R_DISABLED |
                 IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CQSIZE;
  params.cq_entries = completions;
  const int result = io_uring_queue_init_params(submissions, &ring, &params);
  if (result != 0) return result;
  constexpr unsigned needed = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_SUBMIT_STABLE;
  if ((params.features & needed) == needed) return 0;
  io_uring_queue_exit(&ring);
  return -EINVAL;
}

// Debian's liburing 2.3 declares io_uring_enable_rings() but does not export it.
bool enable_ring(io_uring& ring) {
  return ::syscall(__NR_io_uring_register, ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0) == 0;
}

}  // namespace

base::Result<std::unique_ptr<Reactor>> UringReactor::make(const SocketLimits& limits, std::string& why_not) {
  auto reactor = std::make_unique<UringReactor>(limits);
  int result = make_ring(reactor->ring_);
  reactor->ring_made_ = result == 0;
  if (result == 0) result = reactor->buffers_.attach(reactor->ring_);
  if (result == 0 && (reactor->mailbox_.descriptor() < 0 || reactor->datagrams_.descriptor() < 0)) result = -EMFILE;
  if (result != 0) {
    why_not = reason(-result);
    return base::fail(base::Cause::resource_limit, "io_uring_setup", -result);
  }
  io_uring_sqe* sqe = reactor->new_operation(mailbox_operation, base::Handle{});
  io_uring_prep_poll_multishot(sqe, reactor->mailbox_.descriptor(), POLLIN);
  reactor->watch_datagrams();
  return reactor;
}

UringReactor::UringReactor(const SocketLimits& limits) : Loop(limits), buffers_(blocks_), receive_blocks_(blocks_) {}

UringReactor::~UringReactor() {
  if (!ring_made_) return;
  // The kernel may write to our blocks until each operation has come back. From another thread than the loop's this
  // is refused, and not needed: a thread that ends takes its operations along.
  sockets_.for_each([this](base::Handle, Socket& socket) {
    if (socket.in_flight > 0 && !socket.cancelled) cancel_all(socket);
  });
  while (ring_enabled_ && in_flight_ > 0 && io_uring_submit_and_wait(&ring_, 1) >= 0) {
    io_uring_cqe* cqe = nullptr;
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      const bool of_socket = Token::unpacked(cqe->user_data).kind >= connect_operation;
      if (of_socket && (cqe->flags & IORING_CQE_F_MORE) == 0) in_flight_ -= 1;
      io_uring_cqe_seen(&ring_, cqe);
    }
  }
  io_uring_queue_exit(&ring_);
}

void UringReactor::wait_and_serve() {
  if (!ring_enabled_) {
    ring_enabled_ = enable_ring(ring_);
    EBB_ASSERT(ring_enabled_);
    io_uring_register_ring_fd(&ring_);  // saves looking up the descriptor in each round
  }
  if (!buffers_.refill()) starve();
  settle_all();
  submit_and_wait(longest_wait());
  begin_round();
  serve_completions();
  serve_ready();
  close_listeners();
}

void UringReactor::submit_and_wait(base::Duration at_most) {
  if (at_most == base::Duration::zero()) {
    io_uring_submit_and_get_events(&ring_);
    return;
  }
  io_uring_cqe* first = nullptr;
  if (at_most == forever) {
    io_uring_submit_and_wait(&ring_, 1);
    return;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  __kernel_timespec timeout = {.tv_sec = seconds.count(), .tv_nsec = (at_most - seconds).count()};
  io_uring_submit_and_wait_timeout(&ring_, &first, 1, &timeout, nullptr);
}

void UringReactor::serve_completions() {
  unsigned served = 0;
  unsigned head;
  io_uring_cqe* cqe;
  io_uring_for_each_cqe(&ring_, head, cqe) {
    serve_completion(cqe->user_data, cqe->res, cqe->flags);
    if (++served == completions_at_once) break;
  }
  io_uring_cq_advance(&ring_, served);
}

void UringReactor::serve_completion(std::uint64_t bits, int result, std::uint32_t flags) {
  const Token token = Token::unpacked(bits);
  const auto operation = static_cast<Operation>(token.kind);
  switch (operation) {
    case cancel_operation: return;
    case mailbox_operation:
      mail_has_come();
      if ((flags & IORING_CQE_F_MORE) == 0) {
        io_uring_prep_poll_multishot(new_operation(mailbox_operation, base::Handle{}), mailbox_.descriptor(), POLLIN);
      }
      return;
    case datagram_operation:
      datagrams_.serve(*handler_);
      watch_datagrams();
      return;
    case accept_operation: serve_accept(ListenerId(token.handle), result, flags); return;
    default: break;
  }
  Socket* socket = sockets_.find(token.handle);
  EBB_ASSERT(socket != nullptr);  // a slot outlives its operations
  if ((flags & IORING_CQE_F_MORE) == 0) {
    socket->in_flight -= 1;
    in_flight_ -= 1;
    if (socket->phase == Phase::closing) unsettle(*socket);
  }
  serve_socket_completion(operation, *socket, result, flags);
}

void UringReactor::serve_socket_completion(Operation operation, Socket& socket, int result, std::uint32_t flags) {
  switch (operation) {
    case connect_operation: return connected(socket, result);
    case receive_operation: return received(socket, result, flags);
    case send_operation: return sent(socket, result);
    case watch_operation: return watched(socket);
    case source_operation:
      socket.source_polled = false;
      if (socket.pump != nullptr) make_ready(socket);
      return;
    case sink_operation:
      socket.sink_polled = false;
      if (Socket* source = sockets_.find(socket.pump_source)) make_ready(*source);
      return;
    default: return;
  }
}

void UringReactor::serve_ready() {
  base::List<Socket, Ready> turn;
  turn.splice_back(ready_);
  while (Socket* socket = turn.pop_front()) serve_input(socket->id);
}

SocketId UringReactor::add_socket(Descriptor descriptor, Owner owner, Origin origin) {
  const SocketId id(sockets_.emplace());
  Socket& socket = *sockets_.find(id);
  socket.id = id;
  socket.descriptor = std::move(descriptor);
  socket.owner = owner;
  socket.origin = origin;
  socket.opened_seconds = whole_seconds(now());
  unsettle(socket);
  return id;
}

base::Result<ListenerId> UringReactor::prepare_listener(const base::Address& address, Owner owner) {
  Descriptor descriptor = EBB_TRY(open_listener(address, limits_, Blocking::yes));
  return ListenerId(listeners_.emplace(ListenerState{.descriptor = std::move(descriptor), .owner = owner}));
}

void UringReactor::start_listener(ListenerId id) {
  Listener* listener = listeners_.find(id);
  if (listener == nullptr || listener->closing || std::exchange(listener->started, true)) return;
  start_accepting(id);
}

base::Address UringReactor::local_address(ListenerId listener) const {
  const Listener* found = listeners_.find(listener);
  return found == nullptr ? base::Address() : local_address_of(found->descriptor.get());
}

base::Address UringReactor::local_address(SocketId socket) const {
  const auto* found = sockets_.find(socket);
  return found == nullptr ? base::Address() : local_address_of(found->fd());
}

void UringReactor::start_accepting(ListenerId id) {
  Listener& listener = *listeners_.find(id);
  io_uring_sqe* sqe = new_operation(accept_operation, id);
  io_uring_prep_multishot_accept(sqe, listener.descriptor.get(), nullptr, nullptr, SOCK_CLOEXEC);
  listener.accepting = true;
}

// Once, not multishot: each new poll looks at what is there already, and a turn may leave datagrams behind.
void UringReactor::watch_datagrams() {
  io_uring_prep_poll_add(new_operation(datagram_operation, base::Handle{}), datagrams_.descriptor(), POLLIN);
}

void UringReactor::serve_accept(ListenerId id, int result, std::uint32_t flags) {
  Listener& listener = *listeners_.find(id);
  if (result >= 0) {
    Descriptor descriptor(result);
    // A multishot accept has one place for addresses, shared by all: ask the socket instead.
    const base::Address peer = peer_address_of(result);
    const SocketId socket = add_socket(std::move(descriptor), {}, Origin::accepted);
    if (peer.valid()) {
      handler_->on_accepted(listener.owner, socket, peer);
    } else {
      begin_closing(*sockets_.find(socket));  // gone before we looked
    }
  }
  if ((flags & IORING_CQE_F_MORE) != 0) return;
  listener.accepting = false;
  if (listener.closing) {
    closing_listeners_.push_back(id);
  } else if (result < 0 && descriptors_exhausted(-result)) {
    pause_accepting();
  } else {
    start_accepting(id);
  }
}

void UringReactor::resume_accepting() {
  listeners_.for_each([this](base::Handle id, Listener& listener) {
    if (listener.started && !listener.accepting && !listener.closing) start_accepting(ListenerId(id));
  });
}

void UringReactor::close_listener(ListenerId id) {
  Listener* listener = listeners_.find(id);
  if (listener == nullptr || listener->closing) return;
  listener->closing = true;
  if (!listener->accepting) {
    closing_listeners_.push_back(id);
    return;
  }
  io_uring_sqe* sqe = new_operation(cancel_operation, base::Handle{});
  io_uring_prep_cancel64(sqe, Token{accept_operation, id}.packed(), 0);
}

// Nothing is being accepted any more: take what the queue still holds, then close.
void UringReactor::close_listeners() {
  if (closing_listeners_.empty()) return;
  for (const ListenerId id : std::exchange(closing_listeners_, {})) {
    Listener& listener = *listeners_.find(id);
    if (listener.close_at == base::Instant::max()) {
      set_blocking(listener.descriptor.get(), Blocking::no);
      ignore_arrivals(listener.descriptor.get());
      listener.close_at = now() + handshake_time;
    }
    for (int i = 0; i < queue_longest; ++i) {
      sockaddr_storage peer;
      socklen_t size = sizeof(peer);
      Descriptor accepted(
          ::accept4(listener.descriptor.get(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_CLOEXEC));
      if (!accepted && (errno == EAGAIN || descriptors_exhausted(errno))) break;
      if (!accepted) continue;
      const SocketId socket = add_socket(std::move(accepted), {}, Origin::accepted);
      handler_->on_accepted(listener.owner, socket, base::Address::from(reinterpret_cast<sockaddr*>(&peer)));
    }
    if (now() < listener.close_at) {
      closing_listeners_.push_back(id);
      continue;
    }
    const Owner owner = listener.owner;
    listeners_.erase(id);
    handler_->on_listener_closed(owner);
  }
  if (!closing_listeners_.empty()) post([] {});  // another round, soon
}

void UringReactor::list_own(Holdings& out) {
  out.push_back({.descriptor = ring_.ring_fd});
  list_listeners(listeners_, out);
}

bool UringReactor::holds(SocketId id, Owner owner) const {
  const Socket* socket = sockets_.find(id);
  return socket != nullptr && !socket->closed_by_handler() && socket->owner == owner;
}

}  // namespace ebb::reactor
