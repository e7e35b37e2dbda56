// The service behind the proxies of `make bench`: as light as a server can be, so that the proxies are what the load
// fills. A proxy that is never busy wakes for each request alone and looks dearer than one with a queue.
//   backend PORT      /small 128 bytes, /big 1 MiB, /post takes a body of any size
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string answer(std::string_view body, std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + std::string(more) + "\r\n" + std::string(body);
}

const std::string small_answer = answer(std::string(128, 'x'));
const std::string last_answer = answer(std::string(128, 'x'), "Connection: close\r\n");
const std::string post_answer = answer("taken");
const std::string big_answer = answer(std::string(1 << 20, '0'));

struct Connection {
  std::string head;         // a partial one
  std::size_t to_read = 0;  // of the body
  bool last = false;        // the request asked for the close
  std::string_view current;
  std::string_view unsent;
  bool waits_to_send = false;
};

std::array<char, 65536> buffer;

const std::string& answer_to(std::string_view head) {
  if (head.starts_with("POST ")) return post_answer;
  return head.starts_with("GET /big") ? big_answer : small_answer;
}

// Only what the proxies send: a length, or no body.
std::size_t body_size(std::string_view head) {
  for (const std::string_view name : {"content-length: ", "Content-Length: "}) {
    const std::size_t at = head.find(name);
    if (at == std::string_view::npos) continue;
    std::size_t size = 0;
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), size);
    return size;
  }
  return 0;
}

// False: the connection is over.
bool write_some(int descriptor, Connection& connection) {
  while (!connection.unsent.empty()) {
    const ssize_t sent = send(descriptor, connection.unsent.data(), connection.unsent.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    connection.unsent.remove_prefix(static_cast<std::size_t>(sent));
  }
  return !connection.last;
}

void begin(Connection& connection, std::string_view head) {
  connection.to_read = body_size(head);
  connection.last = head.find("\r\nConnection: close\r\n") != std::string_view::npos;
  connection.current = connection.last ? last_answer : answer_to(head);
}

bool take(int descriptor, Connection& connection, std::string_view bytes) {
  if (connection.to_read == 0) {
    std::string_view input = bytes;
    if (!connection.head.empty()) input = connection.head.append(bytes);
    const std::size_t end = input.find("\r\n\r\n");
    if (end == std::string_view::npos) {
      if (connection.head.empty()) connection.head = bytes;
      return true;
    }
    begin(connection, input.substr(0, end + 4));
    const std::size_t rest = input.size() - end - 4;
    connection.to_read -= rest < connection.to_read ? rest : connection.to_read;
    connection.head.clear();
  } else {
    connection.to_read -= bytes.size() < connection.to_read ? bytes.size() : connection.to_read;
  }
  if (connection.to_read > 0) return true;
  connection.unsent = connection.current;
  return write_some(descriptor, connection);
}

bool read_some(int descriptor, Connection& connection) {
  const ssize_t received = recv(descriptor, buffer.data(), buffer.size(), 0);
  if (received < 0) return errno == EAGAIN;
  return received > 0 && take(descriptor, connection, {buffer.data(), static_cast<std::size_t>(received)});
}

int listen_on(std::uint16_t port) {
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 || listen(descriptor, 4096) != 0) {
    std::perror("backend");
    std::exit(1);
  }
  return descriptor;
}

}  // namespace

namespace {

void accept_one(int poller, int listener, std::vector<Connection>& connections) {
  const int accepted = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
  if (accepted < 0) return;
  const int on = 1;
  setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connections.size() <= static_cast<std::size_t>(accepted)) connections.resize(accepted + 1);
  connections[accepted] = {};
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = accepted}};
  epoll_ctl(poller, EPOLL_CTL_ADD, accepted, &wanted);
}

void serve(int poller, int descriptor, Connection& connection) {
  const bool alive = connection.unsent.empty() ? read_some(descriptor, connection) : write_some(descriptor, connection);
  if (!alive) {
    close(descriptor);
    return;
  }
  const bool waits = !connection.unsent.empty();
  if (waits == connection.waits_to_send) return;
  connection.waits_to_send = waits;
  epoll_event wanted{.events = waits ? EPOLLOUT : EPOLLIN, .data = {.fd = descriptor}};
  epoll_ctl(poller, EPOLL_CTL_MOD, descriptor, &wanted);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: backend PORT\n", stderr);
    return 2;
  }
  const int listener = listen_on(static_cast<std::uint16_t>(std::atoi(arguments[1])));
  const int poller = epoll_create1(0);
  epoll_event wanted{.events = EPOLLIN, .data = {.fd = listener}};
  epoll_ctl(poller, EPOLL_CTL_ADD, listener, &wanted);
  std::vector<Connection> connections;
  std::array<epoll_event, 256> ready;
  for (;;) {
    const int amount = epoll_wait(poller, ready.data(), ready.size(), -1);
    for (int i = 0; i < amount; ++i) {
      const int descriptor = ready[i].data.fd;
      if (descriptor == listener) {
        accept_one(poller, listener, connections);
      } else {
        serve(poller, descriptor, connections[descriptor]);
      }
    }
  }
}
