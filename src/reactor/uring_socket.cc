// Receiving, sending and closing on the io_uring reactor; see uring.h.
#include <poll.h>

#include <array>
#include <cerrno>
#include <utility>

#include "reactor/uring.h"

namespace ebb::reactor {

namespace {

constexpr std::size_t glance_at_once = 256;

}  // namespace

UringReactor::Socket* UringReactor::find(SocketId id) {
  Socket* socket = sockets_.find(id);
  return socket == nullptr || socket->closed_by_handler() ? nullptr : socket;
}

void UringReactor::make_ready(Socket& socket) {
  if (!socket.ListNode<Ready>::linked()) ready_.push_back(socket);
}

void UringReactor::unsettle(Socket& socket) {
  if (!socket.ListNode<Unsettled>::linked()) unsettled_.push_back(socket);
}

base::Result<SocketId> UringReactor::connect(const base::Address& address, Owner owner) {
  Descriptor descriptor = EBB_TRY(open_outgoing(address, limits_, Blocking::yes));
  const SocketId id = add_socket(std::move(descriptor), owner, Origin::connecting);
  sockets_.find(id)->connect_to = std::make_unique<base::Address>(address);
  return id;
}

void UringReactor::connected(Socket& socket, int result) {
  socket.connect_to.reset();
  if (socket.phase == Phase::closing) return;
  unsettle(socket);
  if (result == 0) socket.origin = Origin::connected;
  if (socket.closed_by_handler()) {
    if (result != 0) begin_closing(socket);
    return;
  }
  if (result == 0) return handler_->on_connected(socket.owner);
  report_failure(socket, error_of(-result, Origin::connecting, "connect"));
}

void UringReactor::adopt(SocketId id, Owner owner) {
  if (Socket* socket = find(id)) socket->owner = owner;
}

void UringReactor::receive(SocketId id, Receive mode) {
  Socket* socket = find(id);
  if (socket == nullptr || socket->mode == mode) return;
  socket->mode = mode;
  if (mode == Receive::paused) {
    if (socket->owes_end(socket->end_seen)) make_ready(*socket);
    if (socket->receiving == Receiving::no) unsettle(*socket);
    return;
  }
  const bool waiting = socket->undelivered != nullptr || socket->input == Input::ended;
  if (waiting) make_ready(*socket);
  if (socket->receiving == Receiving::no) unsettle(*socket);
}

void UringReactor::received(Socket& socket, int result, std::uint32_t flags) {
  if ((flags & IORING_CQE_F_MORE) == 0) {
    socket.receiving = Receiving::no;
    unsettle(socket);
    if (socket.pump != nullptr) make_ready(socket);
  } else if (result > 0 && !std::exchange(socket.fed, true)) {
    fed_.push_back(socket.id);
    glance_soon();
  }
  base::Slice bytes;
  if ((flags & IORING_CQE_F_BUFFER) != 0) {
    bytes = buffers_.take(static_cast<std::uint16_t>(flags >> IORING_CQE_BUFFER_SHIFT),
                          static_cast<std::uint32_t>(std::max(result, 0)));
  }
  if (socket.phase == Phase::failed) return;
  if (result == -ENOBUFS || result == -ECANCELED || result == -EAGAIN || result == -EINTR) return;  // asked for again
  if (socket.closed_by_handler()) return discarded(socket, result);
  if (result <= 0) return input_ended(socket, -result);
  counters_.receives += 1;
  const SocketId id = socket.id;
  const bool filled = static_cast<std::uint32_t>(result) >= base::BlockPool::body_size;
  deliver(socket, std::move(bytes));
  if (filled) receive_directly(id);
}

// A reset that comes right behind bytes wakes a repeated receive only once, for the bytes (seen with Linux 6.18). A new
// receive is told of it at once.
void UringReactor::glance() {
  std::array<pollfd, glance_at_once> seen;
  std::array<Socket*, glance_at_once> sockets;
  while (!fed_.empty()) {
    std::size_t count = 0;
    while (count < glance_at_once && !fed_.empty()) {
      Socket* socket = sockets_.find(fed_.back());
      fed_.pop_back();
      if (socket == nullptr) continue;
      socket->fed = false;
      if (socket->receiving != Receiving::repeatedly || socket->phase == Phase::closing) continue;
      sockets[count] = socket;
      seen[count++] = {.fd = socket->fd(), .events = 0, .revents = 0};
    }
    if (count == 0 || ::poll(seen.data(), count, 0) <= 0) continue;
    for (std::size_t i = 0; i < count; ++i)
      if ((seen[i].revents & (POLLERR | POLLHUP)) != 0) cancel_receive(*sockets[i]);
  }
}

// The rest of a bulk receive, with one call instead of an operation per block: the ring has told that bytes are there.
void UringReactor::receive_directly(SocketId id) {
  Socket* socket = find(id);
  if (socket == nullptr || socket->mode != Receive::bulk || socket->receiving != Receiving::no) return;
  if (!socket->usable() || socket->undelivered != nullptr || socket->pump != nullptr) return;
  const std::span<const iovec> parts = receive_blocks_.prepare(ReceiveBlocks::most);
  if (parts.empty()) return;
  msghdr message = {.msg_iov = const_cast<iovec*>(parts.data()), .msg_iovlen = parts.size()};
  const ssize_t got = ::recvmsg(socket->fd(), &message, MSG_DONTWAIT);
  if (got < 0 && errno == EAGAIN) return;
  if (got <= 0) return input_ended(*socket, got < 0 ? errno : 0);
  counters_.receives += 1;
  receive_blocks_.hand_out(static_cast<std::size_t>(got), [this, id](base::Slice slice) {
    if (Socket* still = find(id); still != nullptr && still->phase == Phase::open) deliver(*still, std::move(slice));
  });
}

void UringReactor::input_ended(Socket& socket, int sys) {
  socket.input = Input::ended;
  // A socket's error is told once. When the receive got it, a send beside it was left with EPIPE, which would speak of
  // a FIN that never came.
  const bool known = socket.has_failure() && !peer_had_finished(socket.failure);
  if (sys != 0 && !known) socket.failure = error_of(sys, socket.origin, "recv");
  make_ready(socket);
}

void UringReactor::discarded(Socket& socket, int result) {
  if (result > 0) {
    // The peer is in the middle of a message: wait for its FIN (RFC 9112, 9.6).
    if (socket.phase == Phase::flushing) socket.phase = Phase::draining;
    if (socket.phase == Phase::draining && socket.output_bytes.empty()) bound_silence(socket.linger);
    return;
  }
  socket.input = Input::finished;
  if (result < 0) begin_closing(socket);
  unsettle(socket);
}

void UringReactor::deliver(Socket& socket, base::Slice bytes) {
  if (socket.mode != Receive::paused && socket.undelivered == nullptr && socket.pump == nullptr) {
    handler_->on_received(socket.owner, std::move(bytes));
    return;
  }
  socket.hold(std::move(bytes));
  unsettle(socket);
  if (socket.mode != Receive::paused || socket.pump != nullptr) make_ready(socket);
}

// True if nothing is held any more and the socket is still to be received from.
bool UringReactor::deliver_held(SocketId id) {
  while (true) {
    Socket* socket = find(id);
    if (socket == nullptr || socket->mode == Receive::paused) return false;
    if (socket->undelivered == nullptr) return true;
    handler_->on_received(socket->owner, socket->take_held());
  }
}

void UringReactor::serve_input(SocketId id) {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr) return;
  unsettle(*socket);
  if (socket->phase != Phase::open) return;
  if (socket->owes_end(socket->end_seen || socket->input == Input::ended)) {
    if (!tell_end(id)) return;
    socket = sockets_.find(id);
  }
  if (socket->pump != nullptr) return serve_pump(id);
  const bool unread = socket->mode == Receive::paused || socket->input == Input::finished;
  if (unread && socket->has_failure()) return report_failure(*socket, socket->failure);
  if (!deliver_held(id)) return;
  socket = find(id);
  if (socket->input == Input::ended && socket->phase == Phase::open) report_end(*socket);
}

void UringReactor::report_end(Socket& socket) {
  if (socket.has_failure()) return report_failure(socket, socket.failure);
  socket.input = Input::finished;
  handler_->on_peer_finished(socket.owner);
}

void UringReactor::report_failure(Socket& socket, const base::Error& error) {
  const base::Error reported = error;
  socket.phase = Phase::failed;
  socket.undelivered.reset();
  if (socket.pump != nullptr) end_pump(socket);
  if (Socket* source = sockets_.find(socket.pump_source)) end_pump(*source);
  handler_->on_failed(socket.owner, reported);
}

void UringReactor::watched(Socket& socket) {
  socket.watching = Watching::over;
  if (!socket.usable()) return;
  const int sys = pending_error(socket.fd());
  if (sys != 0) {
    socket.failure = error_of(sys, socket.origin, "socket");
    return make_ready(socket);
  }
  // An end and no error. Errors that come behind it are watched for again.
  if (socket.origin != Origin::accepted || std::exchange(socket.end_seen, true)) return;
  socket.watching = Watching::no;
  make_ready(socket);
}

// True: it is still there.
bool UringReactor::tell_end(SocketId id) {
  Socket& socket = *sockets_.find(id);
  socket.end_told = true;
  if (!socket.has_failure()) handler_->on_end_in_sight(socket.owner);
  return find(id) != nullptr;
}

void UringReactor::send(SocketId id, base::Chain&& bytes) {
  Socket* socket = find(id);
  if (socket == nullptr || !socket->takes_output()) return bytes.clear();
  if (socket->output_bytes.empty()) socket->output_moved = now();
  socket->output_bytes.join(std::move(bytes));
  if (socket->output_bytes.empty()) return;
  socket->owes_drained = true;
  if (!socket->sending) unsettle(*socket);
}

void UringReactor::sent(Socket& socket, int result) {
  socket.sending = false;
  if (socket.message != nullptr) messages_.push_back(std::move(socket.message));
  if (socket.phase == Phase::closing || socket.phase == Phase::failed) return;
  unsettle(socket);
  if (result < 0) {
    socket.output_bytes.clear();
    if (socket.closed_by_handler()) return begin_closing(socket);
    if (!socket.has_failure()) socket.failure = error_of(-result, socket.origin, "send");
    // What the peer sent before it went away can still be read: the failure comes after that, see serve_input().
    make_ready(socket);
    return;
  }
  counters_.sends += 1;
  socket.output_bytes.drop_front(static_cast<std::size_t>(result));
  socket.output_moved = now();
  if (socket.closed_by_handler()) {
    if (socket.phase == Phase::flushing && socket.output_bytes.empty()) return;  // gone with this round
    bound_linger(socket.linger, socket.id);
    if (socket.output_bytes.empty()) bound_silence(socket.linger);
    return;
  }
  if (!socket.output_bytes.empty()) return;
  if (Socket* source = sockets_.find(socket.pump_source)) make_ready(*source);
  if (!socket.owes_drained || socket.has_failure()) return;
  socket.owes_drained = false;
  handler_->on_drained(socket.owner);
}

std::size_t UringReactor::unsent(SocketId id) const {
  const Socket* socket = const_cast<UringReactor*>(this)->find(id);
  if (socket == nullptr || socket->phase == Phase::failed) return 0;
  const Socket* source = sockets_.find(socket->pump_source);
  const std::uint64_t in_pipe = source != nullptr && source->pump != nullptr ? source->pump->in_pipe : 0;
  return socket->output_bytes.bytes() + in_pipe;
}

std::size_t UringReactor::held(SocketId id) const {
  const Socket* socket = const_cast<UringReactor*>(this)->find(id);
  if (socket == nullptr) return 0;
  return socket->output_bytes.held() + (socket->undelivered == nullptr ? 0 : socket->undelivered->held());
}

base::Backlog UringReactor::backlog(SocketId id) const {
  const Socket* socket = sockets_.find(id);
  return {unsent(id), socket == nullptr ? base::Instant{} : socket->output_moved};
}

void UringReactor::finish(SocketId id) {
  Socket* socket = find(id);
  if (socket == nullptr || socket->phase == Phase::failed || socket->output != Output::open) return;
  socket->output = Output::finishing;
  unsettle(*socket);
}

void UringReactor::close(SocketId id, CloseMode mode) {
  Socket* socket = find(id);
  if (socket == nullptr) return;
  if (socket->pump != nullptr) end_pump(*socket);
  if (Socket* source = sockets_.find(socket->pump_source)) end_pump(*source);
  if (mode == CloseMode::reset) reset_on_close(socket->fd());
  if (mode != CloseMode::flush || !socket->usable()) return begin_closing(*socket);

  const bool nobody_reads = socket->receiving == Receiving::no && socket->input == Input::open;
  const bool unread = nobody_reads && socket->origin != Origin::connecting && bytes_in_sight(socket->fd());
  const bool peer_sends = unread || socket->undelivered != nullptr;
  if (socket->output_bytes.empty() && !peer_sends) return begin_closing(*socket);
  socket->undelivered.reset();
  socket->phase = peer_sends ? Phase::draining : Phase::flushing;
  if (socket->output == Output::open) socket->output = Output::finishing;
  unsettle(*socket);
  bound_linger(socket->linger, socket->id);
  if (socket->output_bytes.empty()) bound_silence(socket->linger);
}

void UringReactor::begin_closing(Socket& socket) {
  socket.phase = Phase::closing;
  socket.undelivered.reset();
  unsettle(socket);
}

// With output unsent a plain close would look like its end: where only the close delimits a body, as if it were whole.
void UringReactor::end_linger(SocketId id) {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr) return;
  if (!socket->output_bytes.empty()) reset_on_close(socket->fd());
  begin_closing(*socket);
}

std::size_t UringReactor::linger_memory(SocketId id) const {
  const Socket* socket = sockets_.find(id);
  return socket == nullptr ? 0 : socket->output_bytes.held();
}

bool UringReactor::peer_gone(SocketId id) {
  const Socket* socket = find(id);
  if (socket == nullptr || !socket->usable() || socket->input != Input::open) return true;
  return end_in_sight(socket->fd());
}

std::optional<TcpFacts> UringReactor::tcp_facts(SocketId id) {
  const Socket* socket = find(id);
  return socket == nullptr ? std::nullopt : tcp_facts_of(socket->fd(), socket->origin);
}

void UringReactor::ask_peer(SocketId id, bool ask) {
  const Socket* socket = find(id);
  if (socket != nullptr)
    set_keepalive(socket->fd(), ask ? asked_every : limits_.keepalive_idle,
                  ask ? asked_every : limits_.keepalive_interval);
}

}  // namespace ebb::reactor
