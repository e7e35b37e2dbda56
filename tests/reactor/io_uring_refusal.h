// Why io_uring is forbidden here, or nothing. For any other reason a test of it must try, and fail.
#pragma once

#include <linux/io_uring.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

namespace ebb::reactor {

inline std::optional<std::string> io_uring_refusal() {
  io_uring_params parameters{};
  const long descriptor = ::syscall(SYS_io_uring_setup, 2, &parameters);
  if (descriptor >= 0) {
    ::close(static_cast<int>(descriptor));
    return std::nullopt;
  }
  if (errno != EPERM && errno != ENOSYS && errno != EACCES) return std::nullopt;
  return std::string("io_uring is refused here: ") + std::strerror(errno);
}

}  // namespace ebb::reactor
