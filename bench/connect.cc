// A client that pays for connections, not for requests. Every connection makes one request.
//   connect full|resumed ADDRESS PORT SECONDS   TLS 1.3 handshakes for a while; prints counts and latencies
//   connect plain-hold|tls-hold ADDRESS PORT N  opens N connections, prints "held", keeps them until stdin ends
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int threads = 4;  // enough that the router always has a handshake to do while a client computes
constexpr std::string_view closing_request = "GET /small HTTP/1.1\r\nHost: bench.test\r\nConnection: close\r\n\r\n";
constexpr std::string_view request = "GET /small HTTP/1.1\r\nHost: bench.test\r\n\r\n";

struct SslFree {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using SslPointer = std::unique_ptr<SSL, SslFree>;
using SslContext = std::unique_ptr<SSL_CTX, SslFree>;
using SslSession = std::unique_ptr<SSL_SESSION, SslFree>;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(1);
}

// A ticket arrives after the handshake, with the response; the newest one serves the next connection of this thread.
int keep_session(SSL* ssl, SSL_SESSION* session) {
  static_cast<SslSession*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->reset(session);
  return 1;
}

SslContext make_context(SslSession* newest) {
  SslContext context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_set_app_data(context.get(), newest);
  if (newest != nullptr) SSL_CTX_sess_set_new_cb(context.get(), keep_session);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  return context;
}

int dial(const sockaddr_in& address) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) give_up("socket");
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) give_up("connect");
  return fd;
}

SslPointer handshake(SSL_CTX* context, int fd, SSL_SESSION* session) {
  SslPointer ssl(SSL_new(context));
  SSL_set_fd(ssl.get(), fd);
  SSL_set_tlsext_host_name(ssl.get(), "bench.test");
  if (session != nullptr) SSL_set_session(ssl.get(), session);
  if (SSL_connect(ssl.get()) != 1) give_up("SSL_connect");
  return ssl;
}

struct Tally {
  std::uint64_t resumed = 0;
  std::uint64_t failed = 0;
  std::vector<std::uint32_t> microseconds;
};

void one_exchange(const sockaddr_in& address, SSL_CTX* context, SslSession& newest, bool resume, Tally& tally) {
  const auto started = SteadyClock::now();
  const int fd = dial(address);
  {
    const SslPointer ssl = handshake(context, fd, resume ? newest.get() : nullptr);
    SSL_write(ssl.get(), closing_request.data(), static_cast<int>(closing_request.size()));
    char buffer[4096];
    int got = 0;
    std::string answer;
    while ((got = SSL_read(ssl.get(), buffer, sizeof buffer)) > 0) answer.append(buffer, static_cast<std::size_t>(got));
    tally.resumed += SSL_session_reused(ssl.get()) == 1 ? 1 : 0;
    tally.failed += answer.starts_with("HTTP/1.1 200") ? 0 : 1;
    SSL_shutdown(ssl.get());  // without it the session would count as broken, and its ticket as unusable
  }
  close(fd);
  const auto took = SteadyClock::now() - started;
  tally.microseconds.push_back(
      static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
}

Tally shake_hands_until(SteadyClock::time_point deadline, const sockaddr_in& address, bool resume) {
  SslSession newest;
  const SslContext context = make_context(&newest);
  Tally tally;
  while (SteadyClock::now() < deadline) one_exchange(address, context.get(), newest, resume, tally);
  return tally;
}

int shake_hands(const sockaddr_in& address, bool resume, double seconds) {
  const auto started = SteadyClock::now();
  const auto deadline =
      started + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
  Tally tallies[threads];
  {
    std::vector<std::jthread> workers;
    for (Tally& tally : tallies) {
      workers.emplace_back([&] { tally = shake_hands_until(deadline, address, resume); });
    }
  }
  Tally sum;
  for (const Tally& tally : tallies) {
    sum.resumed += tally.resumed;
    sum.failed += tally.failed;
    sum.microseconds.insert(sum.microseconds.end(), tally.microseconds.begin(), tally.microseconds.end());
  }
  if (sum.microseconds.empty()) return 1;
  std::sort(sum.microseconds.begin(), sum.microseconds.end());
  const std::size_t count = sum.microseconds.size();
  const double elapsed = std::chrono::duration<double>(SteadyClock::now() - started).count();
  std::printf(
      "{\"requests\": %zu, \"resumed\": %lu, \"failed\": %lu, \"seconds\": %.6f, \"p50_us\": %u, \"p99_us\": %u}\n",
      count, sum.resumed, sum.failed, elapsed, sum.microseconds[count / 2], sum.microseconds[count * 99 / 100]);
  return 0;
}

// The head tells the length; our small response comes with Content-Length and fits one read or two.
template <class Read>
void read_one_response(Read read_some) {
  std::string answer;
  char buffer[4096];
  while (true) {
    const auto got = read_some(buffer, sizeof buffer);
    if (got <= 0) give_up("the response did not arrive");
    answer.append(buffer, static_cast<std::size_t>(got));
    const std::size_t head = answer.find("\r\n\r\n");
    const std::size_t length = answer.find("ength: ");
    if (head == std::string::npos || length == std::string::npos) continue;
    if (answer.size() >= head + 4 + std::strtoul(answer.c_str() + length + 7, nullptr, 10)) return;
  }
}

int hold(const sockaddr_in& address, bool tls, int count) {
  const SslContext context = make_context(nullptr);
  std::vector<SslPointer> sessions;
  for (int i = 0; i < count; ++i) {
    const int fd = dial(address);
    if (tls) {
      SSL* ssl = sessions.emplace_back(handshake(context.get(), fd, nullptr)).get();
      SSL_write(ssl, request.data(), static_cast<int>(request.size()));
      read_one_response([ssl](char* into, int room) { return SSL_read(ssl, into, room); });
    } else {
      if (write(fd, request.data(), request.size()) < 0) give_up("write");
      read_one_response([fd](char* into, std::size_t room) { return read(fd, into, room); });
    }
  }
  std::puts("held");
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) continue;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: connect full|resumed|plain-hold|tls-hold ADDRESS PORT SECONDS|N\n", stderr);
    return 2;
  }
  std::signal(SIGPIPE, SIG_IGN);  // SSL_shutdown writes to a peer that has closed already
  const std::string_view mode = argv[1];
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(argv[3])));
  if (inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) give_up("address");
  if (mode == "full" || mode == "resumed") return shake_hands(address, mode == "resumed", std::atof(argv[4]));
  return hold(address, mode == "tls-hold", std::atoi(argv[4]));
}
