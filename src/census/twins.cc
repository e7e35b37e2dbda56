#include "census/twins.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ebb::census {
namespace {

bool is_the_same(int descriptor, std::uint64_t cookie) {
  std::uint64_t found = 0;
  socklen_t size = sizeof(found);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &found, &size) == 0 && found == cookie;
}

}  // namespace

reactor::Descriptor Twins::open(const Process& process, const Socket& socket) {
  if (pid_ != process.pid) {
    pid_ = process.pid;
    pidfd_ = reactor::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  if (!pidfd_) return {};
  reactor::Descriptor twin(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), socket.fd, 0)));
  if (!twin || !is_the_same(twin.get(), socket.cookie)) return {};
  return twin;
}

std::optional<std::uint32_t> read_option(int socket, int level, int option) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (::getsockopt(socket, level, option, &value, &size) != 0) return std::nullopt;
  return static_cast<std::uint32_t>(value);
}

bool set_option(int socket, int level, int option, std::uint32_t value) {
  const int number = static_cast<int>(value);
  return ::setsockopt(socket, level, option, &number, sizeof(number)) == 0;
}

}  // namespace ebb::census
