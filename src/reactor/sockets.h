// The system calls that both reactors make on sockets in the same way, and what their errors mean.
#pragma once

#include <cstdint>
#include <optional>

#include "base/address.h"
#include "base/result.h"
#include "reactor/descriptor.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

// Whose socket it is decides what an error on it means.
enum class Origin : std::uint8_t { accepted, connecting, connected };

// io_uring needs blocking sockets: on a non-blocking one it answers EAGAIN instead of waiting for readiness.
enum class Blocking : std::uint8_t { no, yes };

// Limits are set on the listener because accepted sockets inherit them: no system call per connection.
base::Result<Descriptor> open_listener(const base::Address& address, const SocketLimits& limits, Blocking blocking);
base::Result<Descriptor> open_outgoing(const base::Address& address, const SocketLimits& limits, Blocking blocking);

// 0, or why the address cannot be bound: also because another process has it, which open_listener() would not notice.
int try_bind(const base::Address& address, int type);

base::Address local_address_of(int socket);
base::Address peer_address_of(int socket);
inline constexpr base::Duration asked_every = std::chrono::seconds{1};  // the least that TCP_KEEPIDLE takes
void set_keepalive(int socket, base::Duration idle, base::Duration interval);
std::optional<TcpFacts> tcp_facts_of(int socket, Origin origin);  // tcp_facts.cc
base::Error error_of(int sys, Origin origin, const char* where);
bool descriptors_exhausted(int sys);  // or memory: waiting may help
int pending_error(int socket);        // SO_ERROR, which reading clears
void set_blocking(int socket, Blocking blocking);
void reset_on_close(int socket);
// For a listener that is about to close: a client that connects now retries in a second and finds the next one.
// Without it the close would reset connections made after the last accept.
void ignore_arrivals(int listener);
void send_fin(int socket);
// Both look without taking.
bool end_in_sight(int socket);
bool bytes_in_sight(int socket);

bool set_option(int socket, int level, int name, int value);
std::unexpected<base::Error> local_failure(const char* where);  // errno, of a call that asked no peer

enum class Unread : std::uint8_t { none, ended, more };
// Throws away what has been received, without copying it.
Unread discard_input(int socket);

}  // namespace ebb::reactor
