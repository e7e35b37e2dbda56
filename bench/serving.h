// What the servers behind the proxies of `make bench` share: one thread, one epoll, connections known by descriptor.
#pragma once

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string_view>

namespace bench {

inline int listen_on(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(descriptor, 4096) != 0) {
    std::perror("listen");
    std::exit(1);
  }
  return descriptor;
}

inline void watch(int poller, int operation, int descriptor, std::uint32_t events) {
  epoll_event wanted{.events = events, .data = {.fd = descriptor}};
  epoll_ctl(poller, operation, descriptor, &wanted);
}

// Sends from the front of `unsent`. False: the connection is over.
inline bool send_some(int descriptor, std::string_view& unsent) {
  while (!unsent.empty()) {
    const ssize_t sent = send(descriptor, unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

// `Connection` has `bool take(int descriptor, std::string_view bytes)`, `bool flush(int descriptor)`, both false at the
// end of the connection, and `bool unsent()`: while it is true nothing is read.
template <class Connection>
[[noreturn]] void serve(std::uint16_t port) {
  static std::array<char, 262144> buffer;
  const int listener = listen_on(port);
  const int poller = epoll_create1(0);
  watch(poller, EPOLL_CTL_ADD, listener, EPOLLIN);
  struct Served {
    Connection connection;
    bool waits_to_send = false;
  };
  std::deque<Served> all;  // views into a connection stay valid while it grows
  const auto accept_one = [&] {
    const int accepted = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
    if (accepted < 0) return;
    const int on = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (all.size() <= static_cast<std::size_t>(accepted)) all.resize(accepted + 1);
    all[accepted] = {};
    watch(poller, EPOLL_CTL_ADD, accepted, EPOLLIN);
  };
  const auto step = [](int descriptor, Connection& connection) {
    if (connection.unsent()) return connection.flush(descriptor);
    const ssize_t received = recv(descriptor, buffer.data(), buffer.size(), 0);
    if (received < 0) return errno == EAGAIN;
    return received > 0 && connection.take(descriptor, {buffer.data(), static_cast<std::size_t>(received)});
  };
  std::array<epoll_event, 256> ready;
  for (;;) {
    const int amount = epoll_wait(poller, ready.data(), ready.size(), -1);
    for (int i = 0; i < amount; ++i) {
      const int descriptor = ready[i].data.fd;
      if (descriptor == listener) {
        accept_one();
        continue;
      }
      Served& served = all[descriptor];
      if (!step(descriptor, served.connection)) {
        served = {};
        close(descriptor);
        continue;
      }
      const bool waits = served.connection.unsent();
      if (waits == served.waits_to_send) continue;
      served.waits_to_send = waits;
      watch(poller, EPOLL_CTL_MOD, descriptor, waits ? EPOLLOUT : EPOLLIN);
    }
  }
}

}  // namespace bench
