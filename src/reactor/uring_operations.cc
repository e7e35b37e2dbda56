// What each socket asks of the kernel. Handler calls and completions only change a socket's state and mark it
// unsettled; before each submission the operations in flight are brought in line with the state, once.
#include <poll.h>
#include <sys/socket.h>

#include <thread>

#include "reactor/token.h"
#include "reactor/uring.h"

namespace ebb::reactor {

io_uring_sqe* UringReactor::new_operation(Operation operation, base::Handle handle) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  while (sqe == nullptr) {
    // The queue is full: hand over what it holds. The kernel may have no memory for that at the moment (EAGAIN).
    if (io_uring_submit(&ring_) < 0) std::this_thread::yield();
    sqe = io_uring_get_sqe(&ring_);
  }
  sqe->user_data = Token{operation, handle}.packed();
  return sqe;
}

io_uring_sqe* UringReactor::new_operation(Operation operation, Socket& socket) {
  socket.in_flight += 1;
  in_flight_ += 1;
  return new_operation(operation, base::Handle(socket.id));
}

void UringReactor::settle_all() {
  while (Socket* socket = unsettled_.pop_front()) settle(*socket);
}

void UringReactor::settle(Socket& socket) {
  if (socket.phase == Phase::failed) return;  // waits for close()
  if (socket.origin == Origin::connecting && socket.phase != Phase::closing) {
    if (socket.in_flight == 0) start_connect(socket);
    return;
  }
  if (socket.phase != Phase::closing) settle_output(socket);
  const bool flushed = socket.output == Output::finished;
  if (flushed &&
      (socket.phase == Phase::flushing || (socket.phase == Phase::draining && socket.input != Input::open))) {
    socket.phase = Phase::closing;
  }
  if (socket.phase != Phase::closing) {
    settle_input(socket);
  } else if (socket.in_flight == 0) {
    sockets_.erase(socket.id);
  } else if (!socket.cancelled) {
    cancel_all(socket);
  }
}

void UringReactor::settle_output(Socket& socket) {
  if (socket.sending) return;
  if (!socket.output_bytes.empty()) {
    start_send(socket);
  } else if (socket.output == Output::finishing) {
    send_fin(socket.fd());
    socket.output = Output::finished;
  }
}

void UringReactor::settle_input(Socket& socket) {
  const bool delivers = socket.mode != Receive::paused && socket.pump == nullptr && socket.undelivered == nullptr;
  const bool discards = socket.closed_by_handler();
  if (socket.input == Input::open && (delivers || discards)) {
    if (socket.receiving == Receiving::no) {
      start_receive(socket);
    } else if (socket.has_failure() && socket.receiving == Receiving::repeatedly) {
      // A send has taken the socket's error, and with it the wake-up that would end this receive: ask anew.
      cancel_receive(socket);
    }
    return;
  }
  // A pause alone cancels nothing: most end before a byte comes. The first bytes that must be held back do, and a
  // pump, which wants them left in the kernel.
  const bool receiving = socket.receiving == Receiving::once || socket.receiving == Receiving::repeatedly;
  const bool overflowing = socket.receiving == Receiving::repeatedly && socket.undelivered != nullptr;
  if (overflowing || (receiving && socket.pump != nullptr)) {
    cancel_receive(socket);
    return;
  }
  const bool accepted = socket.origin == Origin::accepted;
  if (socket.receiving != Receiving::no || socket.watching != Watching::no || (socket.pump != nullptr && !accepted)) {
    return;
  }
  socket.watching = Watching::yes;
  const bool awaits_end = accepted && !socket.end_seen;
  poll_once(watch_operation, socket, awaits_end ? POLLERR | POLLHUP | POLLRDHUP : POLLERR | POLLHUP);
}

void UringReactor::start_connect(Socket& socket) {
  io_uring_prep_connect(new_operation(connect_operation, socket), socket.fd(), socket.connect_to->raw(),
                        socket.connect_to->raw_size());
}

void UringReactor::start_receive(Socket& socket) {
  if (buffers_.none_left()) {
    make_ready(socket);  // comes back here after a pause
    return;
  }
  io_uring_sqe* sqe = new_operation(receive_operation, socket);
  // Many bytes are asked for piece by piece, so that a pause holds back one buffer and not a whole ring of them.
  if (socket.mode == Receive::watchful && socket.usable()) {
    io_uring_prep_recv_multishot(sqe, socket.fd(), nullptr, 0, 0);
    sqe->ioprio |= IORING_RECVSEND_POLL_FIRST;  // nothing is there yet, as a rule
    socket.receiving = Receiving::repeatedly;
  } else {
    io_uring_prep_recv(sqe, socket.fd(), nullptr, socket.mode == Receive::bulk ? base::BlockPool::body_size : 0, 0);
    socket.receiving = Receiving::once;
  }
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = UringBuffers::group;
}

void UringReactor::start_send(Socket& socket) {
  io_uring_sqe* sqe = new_operation(send_operation, socket);
  socket.sending = true;
  const base::Chain& bytes = socket.output_bytes;
  // The FIN that follows leaves in the same segment. Not by a close alone: with input unread that sends a reset and
  // drops the bytes.
  const int flags = socket.output == Output::finishing ? MSG_NOSIGNAL | MSG_MORE : MSG_NOSIGNAL;
  if (bytes.slices() == 1) {
    io_uring_prep_send(sqe, socket.fd(), bytes[0].data(), bytes[0].size(), flags);
    return;
  }
  if (messages_.empty()) messages_.push_back(std::make_unique<Message>());
  socket.message = std::move(messages_.back());
  messages_.pop_back();
  Message& message = *socket.message;
  message.header = {.msg_iov = message.parts};
  std::size_t& count = message.header.msg_iovlen;
  for (; count < std::min<std::size_t>(bytes.slices(), std::size(message.parts)); ++count) {
    const base::Slice& slice = bytes[static_cast<std::uint32_t>(count)];
    message.parts[count] = {const_cast<char*>(slice.data()), slice.size()};
  }
  io_uring_prep_sendmsg(sqe, socket.fd(), &message.header, static_cast<unsigned>(flags));
}

void UringReactor::poll_once(Operation operation, Socket& socket, unsigned events) {
  io_uring_prep_poll_add(new_operation(operation, socket), socket.fd(), events);
}

void UringReactor::cancel_receive(Socket& socket) {
  socket.receiving = Receiving::cancelling;
  io_uring_sqe* sqe = new_operation(cancel_operation, base::Handle{});
  io_uring_prep_cancel64(sqe, Token{receive_operation, socket.id}.packed(), 0);
}

// By name where it is a receive alone, as a rule: by descriptor the kernel walks through the operations of all sockets,
// twice, which was 6 % of the work for a connection that serves one request.
void UringReactor::cancel_all(Socket& socket) {
  socket.cancelled = true;
  const bool receives = socket.receiving == Receiving::once || socket.receiving == Receiving::repeatedly;
  if (receives && socket.in_flight == 1) return cancel_receive(socket);
  io_uring_prep_cancel_fd(new_operation(cancel_operation, base::Handle{}), socket.fd(), IORING_ASYNC_CANCEL_ALL);
}

}  // namespace ebb::reactor
