#include "app/http_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "reactor/descriptor.h"
#include "wire/h1_head.h"

namespace ebb::app {
namespace {

constexpr std::size_t answer_bytes_max = std::size_t{1} << 20;

class Exchange {
 public:
  Exchange(const base::Clock& clock, base::Duration patience) : clock_(clock), deadline_(clock.now() + patience) {}

  void set_patience(base::Duration patience) { deadline_ = clock_.now() + patience; }
  bool connect(const base::Address& server) {
    descriptor_ = reactor::Descriptor(::socket(server.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!descriptor_) return fail(errno);
    if (::connect(descriptor_.get(), server.raw(), server.raw_size()) == 0) return true;
    if (errno != EINPROGRESS || !await(POLLOUT)) return fail_to_connect(errno);
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(descriptor_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 || fail_to_connect(error);
  }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno != EAGAIN || !await(POLLOUT)) {
        return fail(errno);
      }
    }
    return true;
  }
  // Appends received bytes; also false, without an error, at the end.
  bool receive(std::string& input) {
    char bytes[16384];
    for (;;) {
      const ssize_t got = ::recv(descriptor_.get(), bytes, sizeof(bytes), 0);
      if (got > 0) {
        input.append(bytes, static_cast<std::size_t>(got));
        return true;
      }
      if (got == 0) return false;
      if (errno != EAGAIN || !await(POLLIN)) return fail(errno);
    }
  }
  const std::string& error() const { return error_; }
  HttpFailure failure() const { return {error_, absent_}; }

 private:
  bool await(short events) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - clock_.now()).count();
    pollfd waiting{descriptor_.get(), events, 0};
    const int ready = left <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(std::min<std::int64_t>(left, 600'000)));
    if (ready == 0) errno = ETIMEDOUT;
    return ready > 0;
  }
  bool fail_to_connect(int error) {
    absent_ = error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
    return fail(error);
  }
  bool fail(int error) {
    if (error_.empty()) error_ = std::strerror(error);
    return false;
  }

  const base::Clock& clock_;
  base::Instant deadline_;
  reactor::Descriptor descriptor_;
  std::string error_;
  bool absent_ = false;
};

std::unexpected<HttpFailure> failed(std::string words) { return std::unexpected(HttpFailure{std::move(words)}); }

}  // namespace

std::expected<HttpAnswer, HttpFailure> ask_over_http(const base::Address& server, const HttpQuestion& question,
                                                     const HttpPatience& patience, const base::Clock& clock) {
  Exchange exchange(clock, patience.connect);
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", question.method,
                                    question.target, server.text());
  if (!question.token.empty()) request += "Authorization: Bearer " + question.token + "\r\n";
  if (!question.body.empty()) {
    request += fmt::format("Content-Type: application/json\r\nContent-Length: {}\r\n", question.body.size());
  } else if (question.method == "POST") {
    request += "Content-Length: 0\r\n";
  }
  request += "\r\n" + question.body;
  if (!exchange.connect(server)) return std::unexpected(exchange.failure());
  exchange.set_patience(patience.answer);
  if (!exchange.send(request)) return std::unexpected(exchange.failure());

  const auto head = std::make_unique<wire::ResponseHead>();  // large
  std::string input;
  for (;;) {
    const wire::Parsed parsed = wire::parse_response(input, {}, wire::Method::other, *head);
    if (parsed.status == wire::Parsed::Status::refused) return failed(std::string(parsed.why));
    if (parsed.status == wire::Parsed::Status::complete && head->interim()) {
      input.erase(0, parsed.consumed);
      continue;
    }
    if (parsed.status == wire::Parsed::Status::complete && head->has_length) {
      if (head->content_length > answer_bytes_max) return failed("the answer is too long");
      if (input.size() >= parsed.consumed + head->content_length) {
        return HttpAnswer{head->status, input.substr(parsed.consumed, static_cast<std::size_t>(head->content_length))};
      }
    }
    if (input.size() > answer_bytes_max) return failed("the answer is too long");
    if (!exchange.receive(input)) {
      return failed(exchange.error().empty() ? "the connection ended before the answer" : exchange.error());
    }
  }
}

}  // namespace ebb::app
