// Both ends of tunnels for `make bench`. A proxy looks at the greeting of a tunnel, an upgrade or a TLS ClientHello,
// and passes on what follows; so only the greeting is real, and neither end spends its core on cryptography.
//   tunnels serve PORT
//   tunnels websocket ADDRESS PORT CONNECTIONS SECONDS   messages of 128 bytes, each sent after the answer to the last
//   tunnels hello ADDRESS PORT CONNECTIONS SECONDS       a ClientHello and one such message, then a new connection
//   tunnels bulk ADDRESS PORT CONNECTIONS SECONDS        a ClientHello, then 1 MiB for each message
#include <openssl/ssl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serving.h"

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t message_bytes = 128;
constexpr std::size_t masked_head_bytes = 8, plain_head_bytes = 4, mask_at = 4;  // RFC 6455 5.2: a length of 16 bits
constexpr std::string_view frame_head = {"\x82\x7e\0\x80", plain_head_bytes};    // binary, whole, 128 bytes
constexpr std::string_view masked_frame_head = {"\x82\xfe\0\x80mask", masked_head_bytes};

// The key and what it must be answered with are the example of RFC 6455 1.3.
constexpr std::string_view upgrade =
    "GET /tunnel HTTP/1.1\r\nHost: bench.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
    "13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
constexpr std::string_view upgraded =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

const std::string small_answer(message_bytes, 'x');
const std::string bulk_answer(1 << 20, '0');

class Served {
 public:
  bool unsent() const { return !unsent_.empty(); }
  bool flush(int descriptor) { return bench::send_some(descriptor, unsent_) && (!last_ || unsent()); }

  bool take(int descriptor, std::string_view bytes) {
    input_ += bytes;
    if (kind_ == Kind::unknown && !greet()) return true;
    const std::size_t size = kind_ == Kind::websocket ? masked_head_bytes + message_bytes : message_bytes;
    if (input_.size() >= size) {  // never more than one: the next is sent after its answer
      answer();
      input_.erase(0, size);
    }
    return flush(descriptor);
  }

 private:
  enum class Kind { unknown, websocket, bytes };

  // False while the greeting is not whole.
  bool greet() {
    std::size_t size = 0;
    if (input_.front() == '\x16') {  // RFC 8446 5.1: a handshake record; its length is in bytes 3 and 4
      if (input_.size() < 5) return false;
      size = 5 + (static_cast<std::uint8_t>(input_[3]) << 8) + static_cast<std::uint8_t>(input_[4]);
      if (input_.size() < size) return false;
      kind_ = Kind::bytes;
    } else {
      const std::size_t end = input_.find("\r\n\r\n");
      if (end == std::string::npos) return false;
      size = end + 4;
      kind_ = Kind::websocket;
      unsent_ = upgraded;
    }
    input_.erase(0, size);
    return true;
  }

  void answer() {
    if (kind_ == Kind::bytes) {
      last_ = input_.front() == 'L';
      unsent_ = input_.front() == 'B' ? bulk_answer : small_answer;
      return;
    }
    frame_ = frame_head;
    for (std::size_t i = 0; i < message_bytes; ++i) {
      frame_.push_back(static_cast<char>(input_[masked_head_bytes + i] ^ input_[mask_at + i % 4]));
    }
    unsent_ = frame_;
  }

  Kind kind_ = Kind::unknown;
  bool last_ = false;  // the server closes: a client that did would run out of ports (TIME-WAIT)
  std::string input_;
  std::string frame_;
  std::string_view unsent_;
};

// With the name that the proxies route by.
std::string client_hello() {
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  const std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  const std::unique_ptr<SSL, Free> ssl(SSL_new(context.get()));
  SSL_set_bio(ssl.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_tlsext_host_name(ssl.get(), "passed.test");
  SSL_connect(ssl.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(ssl.get()), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

struct Plan {
  std::string greeting;
  bool awaits_greeting = false;  // the first message is sent after the answer to the greeting
  std::string message;
  std::size_t answer_bytes = message_bytes;
};

Plan plan_of(std::string_view mode) {
  if (mode == "websocket") {
    std::string message(masked_frame_head);
    for (std::size_t i = 0; i < message_bytes; ++i)
      message.push_back(static_cast<char>('x' ^ message[mask_at + i % 4]));
    return {std::string(upgrade), true, message, plain_head_bytes + message_bytes};
  }
  const bool bulk = mode == "bulk";
  const std::size_t answer_bytes = bulk ? bulk_answer.size() : message_bytes;
  return {client_hello(), false, std::string(message_bytes, bulk ? 'B' : 'L'), answer_bytes};
}

struct Driven {
  bool greeting = false;  // its answer is awaited
  std::string head;       // of the answer to an upgrade, as far as it has come
  std::size_t to_come = 0;
  bool answered = false;  // only the end is to come
  SteadyClock::time_point sent;
};

class Driver {
 public:
  Driver(const sockaddr_in& address, Plan plan) : address_(address), plan_(std::move(plan)) {}

  int run(int connections, double seconds) {
    const auto started = SteadyClock::now();
    const auto deadline =
        started + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
    for (int i = 0; i < connections; ++i) open();
    std::array<epoll_event, 256> ready;
    while (SteadyClock::now() < deadline) {
      const int amount = epoll_wait(poller_, ready.data(), ready.size(), 100);
      for (int i = 0; i < amount; ++i) step(ready[i].data.fd);
    }
    const double elapsed = std::chrono::duration<double>(SteadyClock::now() - started).count();
    if (microseconds_.empty()) return 1;
    std::sort(microseconds_.begin(), microseconds_.end());
    const std::size_t count = microseconds_.size();
    std::printf("{\"requests\": %zu, \"failed\": %lu, \"seconds\": %.6f, \"p50_us\": %u, \"p99_us\": %u}\n", count,
                failed_, elapsed, microseconds_[count / 2], microseconds_[count * 99 / 100]);
    return 0;
  }

 private:
  void open() {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(descriptor, reinterpret_cast<const sockaddr*>(&address_), sizeof(address_)) != 0) {
      std::perror("connect");
      std::exit(1);
    }
    if (driven_.size() <= static_cast<std::size_t>(descriptor)) driven_.resize(descriptor + 1);
    Driven& driven = driven_[descriptor] = {};
    driven.greeting = plan_.awaits_greeting;
    driven.to_come = plan_.answer_bytes;
    driven.sent = SteadyClock::now();
    write(descriptor, driven.greeting ? plan_.greeting : plan_.greeting + plan_.message);
    bench::watch(poller_, EPOLL_CTL_ADD, descriptor, EPOLLIN);
  }

  void reopen(int descriptor) {
    close(descriptor);
    open();
  }

  // A message always fits the empty buffer of its socket.
  static void write(int descriptor, std::string_view bytes) {
    send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

  void step(int descriptor) {
    Driven& driven = driven_[descriptor];
    const ssize_t received = recv(descriptor, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (received <= 0) {
      failed_ += driven.answered ? 0 : 1;
      return reopen(descriptor);
    }
    if (driven.greeting) return take_greeting(descriptor, driven, {buffer_.data(), static_cast<std::size_t>(received)});
    driven.to_come -= std::min(driven.to_come, static_cast<std::size_t>(received));
    if (driven.to_come > 0) return;
    const auto took = SteadyClock::now() - driven.sent;
    microseconds_.push_back(
        static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    driven.answered = plan_.message.front() == 'L';
    if (!driven.answered) send_message(descriptor, driven);
  }

  void take_greeting(int descriptor, Driven& driven, std::string_view bytes) {
    driven.head += bytes;
    if (!driven.head.ends_with("\r\n\r\n")) return;
    if (!driven.head.starts_with("HTTP/1.1 101")) {
      std::fputs("the upgrade was refused\n", stderr);
      std::exit(1);
    }
    driven.greeting = false;
    send_message(descriptor, driven);
  }

  void send_message(int descriptor, Driven& driven) {
    driven.to_come = plan_.answer_bytes;
    driven.sent = SteadyClock::now();
    write(descriptor, plan_.message);
  }

  sockaddr_in address_;
  Plan plan_;
  int poller_ = epoll_create1(0);
  std::vector<Driven> driven_;  // by descriptor
  std::vector<std::uint32_t> microseconds_;
  std::uint64_t failed_ = 0;
  std::array<char, 262144> buffer_{};
};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view mode = count > 1 ? arguments[1] : "";
  if (count == 3 && mode == "serve") bench::serve<Served>(static_cast<std::uint16_t>(std::atoi(arguments[2])));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  const bool known = mode == "websocket" || mode == "hello" || mode == "bulk";
  if (count != 6 || !known || inet_pton(AF_INET, arguments[2], &address.sin_addr) != 1) {
    std::fputs("usage: tunnels serve PORT | tunnels websocket|hello|bulk ADDRESS PORT CONNECTIONS SECONDS\n", stderr);
    return 2;
  }
  address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(arguments[3])));
  return Driver(address, plan_of(mode)).run(std::atoi(arguments[4]), std::atof(arguments[5]));
}
