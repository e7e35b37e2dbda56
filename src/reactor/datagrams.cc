#include "reactor/datagrams.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>

#include "reactor/datagram_control.h"
#include "reactor/sockets.h"
#include "reactor/token.h"

namespace ebb::reactor {

namespace {

constexpr int sockets_at_once = 64;
constexpr unsigned batches_at_once = 4;  // of one socket in one round
constexpr unsigned batch_datagrams = 16;
constexpr std::size_t datagram_bytes_max = 65536;  // IP's length field has 16 bits: none is longer
// The kernel's usual buffer holds fewer than 300 small datagrams, and a burst comes faster than a round. It grants what
// net.core.rmem_max allows.
constexpr int receive_buffer_bytes = 4 << 20;

base::Result<Descriptor> open_datagram_socket(int family) {
  Descriptor socket(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return local_failure("socket");
  set_option(socket.get(), SOL_SOCKET, SO_RCVBUF, receive_buffer_bytes);
  return socket;
}

// The network's answer to an earlier datagram, which the next call on a connected socket reports (udp(7)).
bool tells_of_the_way(int sys) {
  return sys == ECONNREFUSED || sys == EHOSTUNREACH || sys == ENETUNREACH || sys == EHOSTDOWN || sys == ENETDOWN ||
         sys == ENOPROTOOPT || sys == EPROTO || sys == EACCES;
}

}  // namespace

// What recvmmsg fills. The pages of the bytes are touched only as far as datagrams reach.
struct Datagrams::Batch {
  std::unique_ptr<char[]> bytes = std::make_unique_for_overwrite<char[]>(batch_datagrams * datagram_bytes_max);
  mmsghdr messages[batch_datagrams];
  iovec parts[batch_datagrams];
  sockaddr_storage peers[batch_datagrams];
  DatagramControl control[batch_datagrams];

  // The kernel overwrites the sizes with each receive.
  void prepare() {
    for (unsigned i = 0; i < batch_datagrams; ++i) {
      parts[i] = {bytes.get() + i * datagram_bytes_max, datagram_bytes_max};
      messages[i].msg_hdr = {.msg_name = &peers[i],
                             .msg_namelen = sizeof(peers[i]),
                             .msg_iov = &parts[i],
                             .msg_iovlen = 1,
                             .msg_control = control[i].bytes,
                             .msg_controllen = sizeof(control[i].bytes),
                             .msg_flags = 0};
    }
  }
};

Datagrams::Datagrams(Counters& counters) : counters_(counters), set_(::epoll_create1(EPOLL_CLOEXEC)) {}
Datagrams::~Datagrams() = default;

base::Result<DatagramSocketId> Datagrams::bind(const base::Address& address, Owner owner) {
  Descriptor socket = EBB_TRY(open_datagram_socket(address.family()));
  if (!set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1)) return local_failure("setsockopt");
  if (address.family() == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (!want_arrival(socket.get(), address)) return local_failure("setsockopt");
  if (::bind(socket.get(), address.raw(), address.raw_size()) != 0) return local_failure("bind");
  const base::Address local = local_address_of(socket.get());
  return add({.descriptor = std::move(socket), .owner = owner, .local = local, .peer = {}});
}

base::Result<DatagramSocketId> Datagrams::connect(const base::Address& peer, Owner owner) {
  Descriptor socket = EBB_TRY(open_datagram_socket(peer.family()));
  if (::connect(socket.get(), peer.raw(), peer.raw_size()) != 0) {
    return std::unexpected(error_of(errno, Origin::connecting, "connect"));
  }
  const base::Address local = local_address_of(socket.get());
  return add({.descriptor = std::move(socket), .owner = owner, .local = local, .peer = peer});
}

base::Result<DatagramSocketId> Datagrams::add(Socket socket) {
  if (batch_ == nullptr) batch_ = std::make_unique<Batch>();
  const int descriptor = socket.descriptor.get();
  const DatagramSocketId id(sockets_.emplace(std::move(socket)));
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = Token{0, id}.packed()}};
  if (::epoll_ctl(set_.get(), EPOLL_CTL_ADD, descriptor, &event) == 0) return id;
  const int sys = errno;
  sockets_.erase(id);
  return base::fail(base::Cause::resource_limit, "epoll_ctl", sys);
}

base::Address Datagrams::local_address(DatagramSocketId id) const {
  const Socket* socket = sockets_.find(id);
  return socket == nullptr ? base::Address() : socket->local;
}

std::uint32_t Datagrams::list(std::uint32_t from, Holdings& out) {
  return sockets_.for_some(from, holdings_at_once, [&out](base::Handle id, Socket& socket) {
    if (socket.inode == 0) socket.inode = inode_of(socket.descriptor.get());
    out.push_back({.descriptor = socket.descriptor.get(),
                   .kind = socket.peer.valid() ? Holding::Kind::flow : Holding::Kind::datagrams,
                   .inode = socket.inode,
                   .socket = id,
                   .owner = socket.owner});
  });
}

void Datagrams::serve(Handler& handler) {
  epoll_event events[sockets_at_once];
  const int count = ::epoll_wait(set_.get(), events, sockets_at_once, 0);
  for (int i = 0; i < count; ++i) {
    const DatagramSocketId id(Token::unpacked(events[i].data.u64).handle);
    for (unsigned batch = 0; batch < batches_at_once && receive_some(id, handler); ++batch) {
    }
  }
}

bool Datagrams::receive_some(DatagramSocketId id, Handler& handler) {
  const Socket* socket = sockets_.find(id);
  if (socket == nullptr) return false;  // closed by a callback of this round
  batch_->prepare();
  const int count = ::recvmmsg(socket->descriptor.get(), batch_->messages, batch_datagrams, MSG_DONTWAIT, nullptr);
  if (count < 0) {
    receive_failed(id, errno, handler);
    return false;
  }
  counters_.receives += 1;
  const auto received = static_cast<unsigned>(count);
  for (unsigned i = 0; i < received; ++i) deliver(id, i, handler);
  return received == batch_datagrams;
}

void Datagrams::deliver(DatagramSocketId id, unsigned index, Handler& handler) {
  Socket* socket = sockets_.find(id);
  if (socket == nullptr) return;
  const mmsghdr& message = batch_->messages[index];
  const Arrival arrival = read_arrival(message.msg_hdr, socket->local.port());
  if (arrival.dropped != 0) {
    // A count of 32 bits that goes round.
    counters_.datagrams_overrun += static_cast<std::uint32_t>(arrival.dropped - socket->dropped);
    socket->dropped = arrival.dropped;
  }
  if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
    counters_.datagrams_truncated += 1;
    return;
  }
  handler.on_datagram(
      socket->owner,
      {.socket = id,
       .peer = socket->peer.valid() ? socket->peer
                                    : base::Address::from(reinterpret_cast<const sockaddr*>(&batch_->peers[index])),
       .local = arrival.local.valid() ? arrival.local : socket->local,
       .bytes = {static_cast<const char*>(batch_->parts[index].iov_base), message.msg_len}});
}

void Datagrams::receive_failed(DatagramSocketId id, int sys, Handler& handler) {
  const Socket& socket = *sockets_.find(id);
  if (!socket.peer.valid() || !tells_of_the_way(sys)) return;
  handler.on_unreachable(socket.owner, id, error_of(sys, Origin::connecting, "recvmmsg"));
}

DatagramSent Datagrams::send(DatagramSocketId id, std::string_view bytes) {
  const Socket* socket = sockets_.find(id);
  if (socket == nullptr) return DatagramSent::dropped;
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  return send_message(*socket, {.msg_iov = &part, .msg_iovlen = 1});
}

DatagramSent Datagrams::answer(DatagramSocketId id, std::string_view bytes, const base::Address& to,
                               const base::Address& from) {
  const Socket* socket = sockets_.find(id);
  if (socket == nullptr) return DatagramSent::dropped;
  iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message = {
      .msg_name = const_cast<sockaddr*>(to.raw()), .msg_namelen = to.raw_size(), .msg_iov = &part, .msg_iovlen = 1};
  DatagramControl control;
  write_source(message, control, from);
  return send_message(*socket, message);
}

DatagramSent Datagrams::send_message(const Socket& socket, const msghdr& message) {
  counters_.sends += 1;
  if (::sendmsg(socket.descriptor.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return DatagramSent::sent;
  if (socket.peer.valid() && tells_of_the_way(errno)) return DatagramSent::unreachable;
  counters_.datagrams_unsent += 1;
  return DatagramSent::dropped;
}

}  // namespace ebb::reactor
