// Receiving, sending and closing on the epoll reactor; see epoll.h.
#include <sys/socket.h>

#include <cerrno>

#include "reactor/epoll.h"

namespace ebb::reactor {

namespace {

constexpr std::size_t parts_at_once = 64;

ssize_t write_some(int socket, const base::Chain& chain, int flags, std::size_t& attempted) {
  if (chain.slices() == 1) {
    attempted = chain[0].size();
    return ::send(socket, chain[0].data(), attempted, flags);
  }
  iovec parts[parts_at_once];
  msghdr message = {.msg_iov = parts};
  attempted = 0;
  for (; message.msg_iovlen < std::min<std::size_t>(chain.slices(), parts_at_once); ++message.msg_iovlen) {
    const base::Slice& slice = chain[static_cast<std::uint32_t>(message.msg_iovlen)];
    parts[message.msg_iovlen] = {const_cast<char*>(slice.data()), slice.size()};
    attempted += slice.size();
  }
  return ::sendmsg(socket, &message, flags);
}

}  // namespace

EpollReactor::Socket* EpollReactor::find(SocketId id) {
  Socket* socket = sockets_.find(id);
  return socket == nullptr || socket->closed_by_handler() ? nullptr : socket;
}

void EpollReactor::make_ready(Socket& socket) {
  if (!socket.linked()) ready_.push_back(socket);
}

void EpollReactor::adopt(SocketId id, Owner owner) {
  if (Socket* socket = find(id)) socket->owner = owner;
}

void EpollReactor::note_edge(Socket& socket, std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) socket.writable = true;
  const bool at_end = socket.input == Input::finished;
  if (!at_end && (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    socket.input = Input::ending;
  } else if ((events & EPOLLIN) != 0 && socket.input == Input::idle) {
    socket.input = Input::readable;
  }
  // What is not read from shows its errors nowhere else, and the handler must learn that it is lost.
  const bool unread = at_end || (socket.mode == Receive::paused && socket.pump == nullptr);
  if ((events & EPOLLERR) != 0 && unread && socket.phase == Phase::open && !socket.has_failure()) {
    const int sys = pending_error(socket.fd());
    if (sys != 0) socket.failure = error_of(sys, socket.origin, "socket");
  }
}

void EpollReactor::receive(SocketId id, Receive mode) {
  Socket* socket = find(id);
  if (socket == nullptr) return;
  socket->mode = mode;
  if (mode == Receive::paused) return;
  const bool more = socket->input == Input::readable || socket->input == Input::ending;
  if (more || socket->undelivered != nullptr) make_ready(*socket);
}

void EpollReactor::serve_input(SocketId id) {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr || socket->phase == Phase::failed) return;
  if (socket->closed_by_handler()) return serve_closed(*socket);
  if (socket->owes_end(socket->input == Input::ending)) {
    if (!tell_end(id)) return;
    socket = sockets_.find(id);
  }
  if (socket->pump != nullptr) return serve_pump(id);
  const bool unread = socket->mode == Receive::paused || socket->input == Input::finished;
  if (unread && socket->has_failure()) return report_failure(*socket, socket->failure);
  if (socket->mode == Receive::paused) return;
  if (socket->undelivered != nullptr && !deliver_held(id)) return;
  if (socket->input == Input::readable || socket->input == Input::ending) receive_once(id);
}

// True: it is still there.
bool EpollReactor::tell_end(SocketId id) {
  Socket& socket = *sockets_.find(id);
  socket.end_told = true;
  if (!socket.has_failure()) handler_->on_end_in_sight(socket.owner);
  return find(id) != nullptr;
}

void EpollReactor::receive_once(SocketId id) {
  Socket& socket = *sockets_.find(id);
  const std::span<const iovec> parts = receive_blocks_.prepare(socket.mode == Receive::bulk ? ReceiveBlocks::most : 1);
  if (parts.empty()) {
    starve();
    make_ready(socket);
    return;
  }
  const ssize_t got = parts.size() == 1 ? ::recv(socket.fd(), parts[0].iov_base, parts[0].iov_len, 0)
                                        : ::readv(socket.fd(), parts.data(), static_cast<int>(parts.size()));
  if (got <= 0) {
    const int sys = got < 0 ? errno : 0;
    if (sys != EAGAIN) return input_ended(socket, sys);
    socket.input = Input::idle;
    return;
  }
  counters_.receives += 1;
  // Less than asked for: the queue is empty and the next byte makes an edge. An end already seen makes none.
  if (static_cast<std::size_t>(got) < ReceiveBlocks::room(parts) && socket.input != Input::ending) {
    socket.input = Input::idle;
  } else {
    make_ready(socket);
  }
  corked_ = static_cast<std::size_t>(got) > parts[0].iov_len;
  receive_blocks_.hand_out(static_cast<std::size_t>(got), [&](base::Slice slice) { deliver(id, std::move(slice)); });
  if (corked_) write_corked();
}

void EpollReactor::deliver(SocketId id, base::Slice bytes) {
  Socket* socket = find(id);
  if (socket == nullptr || socket->phase == Phase::failed) return;
  if (socket->mode != Receive::paused && socket->undelivered == nullptr) {
    handler_->on_received(socket->owner, std::move(bytes));
    return;
  }
  socket->hold(std::move(bytes));
}

// True if nothing is held any more and the socket is still to be received from.
bool EpollReactor::deliver_held(SocketId id) {
  while (true) {
    Socket* socket = find(id);
    if (socket == nullptr || socket->mode == Receive::paused) return false;
    if (socket->undelivered == nullptr) return true;
    handler_->on_received(socket->owner, socket->take_held());
  }
}

void EpollReactor::input_ended(Socket& socket, int sys) {
  if (socket.has_failure()) return report_failure(socket, socket.failure);
  if (sys != 0) return report_failure(socket, error_of(sys, socket.origin, "recv"));
  socket.input = Input::finished;
  handler_->on_peer_finished(socket.owner);
}

void EpollReactor::report_failure(Socket& socket, const base::Error& error) {
  const base::Error reported = error;
  socket.phase = Phase::failed;
  socket.output_bytes.clear();
  socket.undelivered.reset();
  if (socket.pump != nullptr) end_pump(socket);
  if (Socket* source = sockets_.find(socket.pump_source)) end_pump(*source);
  handler_->on_failed(socket.owner, reported);
}

void EpollReactor::send(SocketId id, base::Chain&& bytes) {
  Socket* socket = find(id);
  if (socket == nullptr || !socket->takes_output()) return bytes.clear();
  const bool in_order = socket->output_bytes.empty();
  if (in_order) socket->output_moved = now();
  socket->output_bytes.join(std::move(bytes));
  if (in_order && corked_) corked_sockets_.push_back(id);
  if (in_order && !corked_) write_out(*socket);
  if (!socket->output_bytes.empty()) socket->owes_drained = true;
}

void EpollReactor::send_last(SocketId id, base::Chain&& bytes) {
  Socket* socket = find(id);
  if (socket == nullptr || !socket->takes_output() || !socket->writable || !socket->output_bytes.empty()) {
    return send(id, std::move(bytes));
  }
  socket->output_moved = now();
  socket->output_bytes.join(std::move(bytes));  // finish() or close() writes it
}

void EpollReactor::write_corked() {
  corked_ = false;
  for (const SocketId id : corked_sockets_) serve_output(id);
  corked_sockets_.clear();
}

void EpollReactor::write_out(Socket& socket) {
  while (socket.writable && !socket.output_bytes.empty()) {
    std::size_t attempted = 0;
    // The FIN that follows at once leaves in the same segment.
    const int flags = socket.output == Output::finishing ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
    const ssize_t put = write_some(socket.fd(), socket.output_bytes, flags, attempted);
    if (put < 0) {
      if (errno == EAGAIN) {
        socket.writable = false;
        return;
      }
      return output_failed(socket, errno);
    }
    counters_.sends += 1;
    socket.output_bytes.drop_front(static_cast<std::size_t>(put));
    socket.output_moved = now();
    if (socket.closed_by_handler()) bound_linger(socket.linger, socket.id);
    // A short write means a full buffer; the kernel makes an edge when there is room (epoll(7)).
    if (static_cast<std::size_t>(put) < attempted) socket.writable = false;
  }
  if (socket.output_bytes.empty() && socket.output == Output::finishing) {
    send_fin(socket.fd());
    socket.output = Output::finished;
  }
}

// What the peer sent before it went away can still be read (an early answer, say): the failure comes after that.
void EpollReactor::output_failed(Socket& socket, int sys) {
  socket.failure = error_of(sys, socket.origin, "send");
  socket.output_bytes.clear();
  socket.input = Input::ending;
  make_ready(socket);
}

void EpollReactor::serve_output(SocketId id) {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr || socket->phase == Phase::failed) return;
  if (!socket->output_bytes.empty()) write_out(*socket);
  if (!socket->output_bytes.empty() || socket->closed_by_handler()) return;
  if (Socket* source = sockets_.find(socket->pump_source)) make_ready(*source);
  if (socket->owes_drained && !socket->has_failure()) {
    socket->owes_drained = false;
    handler_->on_drained(socket->owner);
  }
}

std::size_t EpollReactor::unsent(SocketId id) const {
  const Socket* socket = const_cast<EpollReactor*>(this)->find(id);
  if (socket == nullptr || socket->phase == Phase::failed) return 0;
  const Socket* source = sockets_.find(socket->pump_source);
  const std::uint64_t in_pipe = source != nullptr && source->pump != nullptr ? source->pump->in_pipe : 0;
  return socket->output_bytes.bytes() + in_pipe;
}

std::size_t EpollReactor::held(SocketId id) const {
  const Socket* socket = const_cast<EpollReactor*>(this)->find(id);
  if (socket == nullptr) return 0;
  return socket->output_bytes.held() + (socket->undelivered == nullptr ? 0 : socket->undelivered->held());
}

base::Backlog EpollReactor::backlog(SocketId id) const {
  const Socket* socket = sockets_.find(id);
  return {unsent(id), socket == nullptr ? base::Instant{} : socket->output_moved};
}

void EpollReactor::finish(SocketId id) {
  Socket* socket = find(id);
  if (socket == nullptr || socket->phase == Phase::failed || socket->output != Output::open) return;
  socket->output = Output::finishing;
  if (socket->origin != Origin::connecting) write_out(*socket);
  if (!socket->output_bytes.empty()) socket->owes_drained = true;  // those of send_last()
}

void EpollReactor::close(SocketId id, CloseMode mode) {
  Socket* socket = find(id);
  if (socket == nullptr) return;
  if (socket->pump != nullptr) end_pump(*socket);
  if (Socket* source = sockets_.find(socket->pump_source)) end_pump(*source);
  if (mode == CloseMode::reset) reset_on_close(socket->fd());
  if (mode != CloseMode::flush || !socket->usable()) return bury(id);

  const bool unread = socket->input == Input::readable || socket->input == Input::ending;
  const bool peer_sends = unread || socket->undelivered != nullptr;
  if (socket->output_bytes.empty() && !peer_sends) return bury(id);
  socket->undelivered.reset();
  if (socket->output == Output::open) socket->output = Output::finishing;
  if (socket->origin != Origin::connecting) write_out(*socket);
  if (socket->output == Output::finished && !peer_sends) return bury(id);
  socket->phase = peer_sends ? Phase::draining : Phase::flushing;
  bound_linger(socket->linger, socket->id);
  serve_closed(*socket);
}

void EpollReactor::serve_closed(Socket& socket) {
  if (socket.has_failure()) return bury(socket.id);
  if (socket.input == Input::readable || socket.input == Input::ending) {
    switch (discard_input(socket.fd())) {
      case Unread::ended: socket.input = Input::finished; break;
      case Unread::more: make_ready(socket); [[fallthrough]];
      case Unread::none:
        // Bytes that arrive at a closed socket are answered with a reset, which may overtake our last answer at the
        // peer (RFC 9112, 9.6): so wait for its FIN.
        socket.phase = Phase::draining;
        if (socket.input == Input::readable) socket.input = Input::idle;
        break;
    }
  }
  if (!socket.output_bytes.empty()) return;
  if (socket.phase == Phase::flushing || socket.input == Input::finished) return bury(socket.id);
  bound_silence(socket.linger);
}

// With output unsent a plain close would look like its end: where only the close delimits a body, as if it were whole.
void EpollReactor::end_linger(SocketId id) {
  if (Socket* socket = sockets_.find(id); socket != nullptr && !socket->output_bytes.empty()) {
    reset_on_close(socket->fd());
  }
  bury(id);
}

void EpollReactor::bury(SocketId id) { sockets_.erase(id); }

std::size_t EpollReactor::linger_memory(SocketId id) const {
  const Socket* socket = sockets_.find(id);
  return socket == nullptr ? 0 : socket->output_bytes.held();
}

bool EpollReactor::peer_gone(SocketId id) {
  const Socket* socket = find(id);
  if (socket == nullptr || !socket->usable()) return true;
  if (socket->input == Input::ending || socket->input == Input::finished) return true;
  return end_in_sight(socket->fd());
}

std::optional<TcpFacts> EpollReactor::tcp_facts(SocketId id) {
  const Socket* socket = find(id);
  return socket == nullptr ? std::nullopt : tcp_facts_of(socket->fd(), socket->origin);
}

void EpollReactor::ask_peer(SocketId id, bool ask) {
  const Socket* socket = find(id);
  if (socket != nullptr)
    set_keepalive(socket->fd(), ask ? asked_every : limits_.keepalive_idle,
                  ask ? asked_every : limits_.keepalive_interval);
}

}  // namespace ebb::reactor
