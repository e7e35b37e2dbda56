#include "census/options_reader.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ebb::census {
namespace {

constexpr int tcp_rto_max_ms = 44;  // TCP_RTO_MAX_MS, Linux 6.15; not in Debian's headers

bool get(int socket, int level, int option, auto& into) {
  int value = 0;
  socklen_t size = sizeof(value);
  if (::getsockopt(socket, level, option, &value, &size) != 0) return false;
  into = static_cast<std::remove_reference_t<decltype(into)>>(value);
  return true;
}

bool is_the_same(int descriptor, std::uint64_t cookie) {
  std::uint64_t found = 0;
  socklen_t size = sizeof(found);
  return ::getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &found, &size) == 0 && found == cookie;
}

}  // namespace

bool OptionsReader::open(std::uint32_t pid) {
  if (pid_ != pid) {
    pid_ = pid;
    pidfd_ = reactor::Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  }
  return static_cast<bool>(pidfd_);
}

bool OptionsReader::read(const Process& process, Socket& socket) {
  if (!open(process.pid)) return false;
  const reactor::Descriptor twin(static_cast<int>(::syscall(SYS_pidfd_getfd, pidfd_.get(), socket.fd, 0)));
  if (!twin || !is_the_same(twin.get(), socket.cookie)) return false;
  // A hundred thousand sockets are asked: what the timer already says, or cannot matter, is not.
  Options options;
  options.known = get(twin.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms);
  options.keepalive = socket.timer == Timer::keepalive;
  if (socket.timer != Timer::keepalive && socket.timer != Timer::none) {  // only one timer is told
    options.known = options.known && get(twin.get(), SOL_SOCKET, SO_KEEPALIVE, options.keepalive);
  }
  if (socket.state == State::syn_sent) {
    options.known = options.known && get(twin.get(), IPPROTO_TCP, TCP_SYNCNT, options.syn_retries);
  }
  if (options.keepalive) {
    options.known = options.known && get(twin.get(), IPPROTO_TCP, TCP_KEEPIDLE, options.keepalive_idle_s) &&
                    get(twin.get(), IPPROTO_TCP, TCP_KEEPINTVL, options.keepalive_interval_s) &&
                    get(twin.get(), IPPROTO_TCP, TCP_KEEPCNT, options.keepalive_probes);
  }
  if (has_rto_max_) has_rto_max_ = get(twin.get(), IPPROTO_TCP, tcp_rto_max_ms, options.rto_max_ms);
  if (options.known) socket.options = options;
  return options.known;
}

}  // namespace ebb::census
