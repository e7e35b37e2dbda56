// A client that does one thing after the other. A server that does not answer fails the test after ten seconds instead
// of hanging it.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "base/address.h"

namespace ebb::admin {

struct Response {
  int status = 0;
  std::string head;
  std::string body;

  bool has(std::string_view line) const { return head.find("\r\n" + std::string(line) + "\r\n") != std::string::npos; }
};

class BlockingClient {
 public:
  explicit BlockingClient(const base::Address& address) : fd_(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(connect(fd_, address.raw(), address.raw_size()), 0);
  }
  BlockingClient(const BlockingClient&) = delete;
  BlockingClient& operator=(const BlockingClient&) = delete;
  ~BlockingClient() { ::close(fd_); }

  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void finish() { shutdown(fd_, SHUT_WR); }
  // The destructor ends it by a reset.
  void reset() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }

  // The next response; `body_expected` is false after HEAD, and for a status that has none.
  Response read(bool body_expected = true) {
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!receive()) return {};
    }
    Response response;
    const std::size_t head_size = buffer_.find("\r\n\r\n") + 4;
    response.head = buffer_.substr(0, head_size);
    response.status = std::atoi(response.head.c_str() + sizeof("HTTP/1.1"));
    if (!body_expected || response.status == 204) {
      buffer_.erase(0, head_size);
      return response;
    }
    const std::size_t length_at = response.head.find("Content-Length: ");
    EXPECT_NE(length_at, std::string::npos) << response.head;
    const std::size_t length = std::strtoul(response.head.c_str() + length_at + 16, nullptr, 10);
    buffer_.erase(0, head_size);
    while (buffer_.size() < length) {
      if (!receive()) return {};
    }
    response.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return response;
  }
  std::string read_line() {
    while (buffer_.find('\n') == std::string::npos) {
      if (!receive()) return {};
    }
    std::string line = buffer_.substr(0, buffer_.find('\n'));
    buffer_.erase(0, line.size() + 1);
    return line;
  }
  // What comes until the server closes.
  std::string read_to_end() {
    while (receive()) {
    }
    return std::exchange(buffer_, {});
  }
  bool at_end() { return buffer_.empty() && !receive() && ended_; }

 private:
  bool receive() {
    char bytes[16384];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    ended_ = got == 0;
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
    return true;
  }

  int fd_;
  bool ended_ = false;
  std::string buffer_;
};

}  // namespace ebb::admin
