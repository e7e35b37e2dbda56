#include "reactor/sockets.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <iterator>

namespace ebb::reactor {

namespace {

using base::Cause;

constexpr int backlog = 4096;  // the kernel lowers it to net.core.somaxconn
constexpr int discards_at_once = 16;
constexpr std::size_t discard_bytes = 65536;

int seconds(base::Duration duration) {
  return static_cast<int>(std::chrono::ceil<std::chrono::seconds>(duration).count());
}

bool set_limits(int socket, const SocketLimits& limits) {
  return set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1) && set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1) &&
         set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds(limits.keepalive_idle)) &&
         set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds(limits.keepalive_interval)) &&
         set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, limits.keepalive_probes) &&
         set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(base::to_ms(limits.user_timeout)));
}

base::Result<Descriptor> open_socket(int family, const SocketLimits& limits, Blocking blocking) {
  const int flags = SOCK_STREAM | SOCK_CLOEXEC | (blocking == Blocking::no ? SOCK_NONBLOCK : 0);
  Descriptor socket(::socket(family, flags, 0));
  if (!socket) return local_failure("socket");
  if (!set_limits(socket.get(), limits)) return local_failure("setsockopt");
  return socket;
}

Cause cause_while_connecting(int sys) {
  switch (sys) {
    case ECONNREFUSED: return Cause::backend_refused;
    case ETIMEDOUT: return Cause::backend_connect_timeout;
    case ECONNRESET:
    case EPIPE: return Cause::backend_reset;
    case EADDRNOTAVAIL: return Cause::resource_limit;  // no local port is left
    default: return Cause::backend_unreachable;        // no route, or refused by a local packet filter
  }
}

Cause cause_of(int sys, Origin origin) {
  if (descriptors_exhausted(sys)) return Cause::resource_limit;
  if (origin == Origin::connecting) return cause_while_connecting(sys);
  const bool accepted = origin == Origin::accepted;
  switch (sys) {
    case ETIMEDOUT: return accepted ? Cause::client_dead : Cause::backend_dead;
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENETDOWN: return accepted ? Cause::client_dead : Cause::backend_unreachable;
    case EPIPE: return accepted ? Cause::client_reset : Cause::backend_closed;
    default: return accepted ? Cause::client_reset : Cause::backend_reset;
  }
}

}  // namespace

bool set_option(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof(value)) == 0;
}

std::unexpected<base::Error> local_failure(const char* where) {
  const int sys = errno;
  return base::fail(descriptors_exhausted(sys) ? Cause::resource_limit : Cause::internal, where, sys);
}

// The interval first: setting the other starts the timer anew, and a probe leaves at once where that time is over
// already (tcp_sock_set_keepidle_locked).
void set_keepalive(int socket, base::Duration idle, base::Duration interval) {
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, seconds(interval));
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, seconds(idle));
}

base::Result<Descriptor> open_listener(const base::Address& address, const SocketLimits& limits, Blocking blocking) {
  Descriptor socket = EBB_TRY(open_socket(address.family(), limits, blocking));
  const bool shared =
      set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1) && set_option(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1);
  if (!shared) return local_failure("setsockopt");
  // "[::]:80" and "0.0.0.0:80" may stand side by side in one configuration.
  if (address.family() == AF_INET6) set_option(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(socket.get(), address.raw(), address.raw_size()) != 0) return local_failure("bind");
  if (::listen(socket.get(), backlog) != 0) return local_failure("listen");
  return socket;
}

base::Result<Descriptor> open_outgoing(const base::Address& address, const SocketLimits& limits, Blocking blocking) {
  return open_socket(address.family(), limits, blocking);
}

// Without SO_REUSEPORT, with which another router on the same address would share its connections with us.
int try_bind(const base::Address& address, int type) {
  const Descriptor descriptor(::socket(address.family(), type | SOCK_CLOEXEC, 0));
  if (!descriptor) return errno;
  // For TCP it lets old connections in TIME_WAIT be; for UDP it would share the address with anybody who sets it.
  if (type == SOCK_STREAM) set_option(descriptor.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) set_option(descriptor.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  return ::bind(descriptor.get(), address.raw(), address.raw_size()) == 0 ? 0 : errno;
}

base::Address local_address_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return base::Address::from(reinterpret_cast<sockaddr*>(&storage));
}

base::Address peer_address_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return base::Address::from(reinterpret_cast<sockaddr*>(&storage));
}

base::Error error_of(int sys, Origin origin, const char* where) { return {cause_of(sys, origin), sys, where}; }

bool descriptors_exhausted(int sys) { return sys == EMFILE || sys == ENFILE || sys == ENOBUFS || sys == ENOMEM; }

int pending_error(int socket) {
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

void set_blocking(int socket, Blocking blocking) {
  ::fcntl(socket, F_SETFL, O_RDWR | (blocking == Blocking::no ? O_NONBLOCK : 0));
}

void reset_on_close(int socket) {
  const linger now = {.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void ignore_arrivals(int listener) {
  constexpr std::uint32_t flags_at = 13;  // of the TCP header, where the packet of a filter on a TCP socket begins
  constexpr std::uint32_t syn = 0x02;
  constexpr std::uint32_t syn_or_ack = 0x12;
  sock_filter drop_syn[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, flags_at),  //
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, syn_or_ack),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, syn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
  };
  const sock_fprog program = {.len = std::size(drop_syn), .filter = drop_syn};
  ::setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

void send_fin(int socket) { ::shutdown(socket, SHUT_WR); }

bool end_in_sight(int socket) {
  char byte;
  const ssize_t got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN);
}

bool bytes_in_sight(int socket) {
  char byte;
  return ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

Unread discard_input(int socket) {
  for (int i = 0; i < discards_at_once; ++i) {
    // MSG_TRUNC on TCP drops the bytes inside the kernel (tcp(7)).
    const ssize_t got = ::recv(socket, nullptr, discard_bytes, MSG_TRUNC | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return Unread::none;
    if (got <= 0) return Unread::ended;
  }
  return Unread::more;
}

}  // namespace ebb::reactor
