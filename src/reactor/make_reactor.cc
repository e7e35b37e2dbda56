#include <csignal>

#include "reactor/epoll.h"
#include "reactor/reactor.h"
#include "reactor/uring.h"

namespace ebb::reactor {

base::Result<std::unique_ptr<Reactor>> make_reactor(Kind kind, const SocketLimits& limits, std::string& why_not) {
  std::signal(SIGPIPE, SIG_IGN);  // splice(2) to a broken connection raises it and has no MSG_NOSIGNAL
  if (kind == Kind::epoll) return EpollReactor::make(limits);
  base::Result<std::unique_ptr<Reactor>> uring = UringReactor::make(limits, why_not);
  if (uring || kind == Kind::uring) return uring;
  return EpollReactor::make(limits);
}

}  // namespace ebb::reactor
