#include "reactor/epoll.h"
#include "reactor/reactor.h"

namespace ebb::reactor {

base::Result<std::unique_ptr<Reactor>> make_reactor(Kind kind, const SocketLimits& limits, std::string& why_not) {
  why_not = "this build has no io_uring";
  if (kind == Kind::uring) {
    return base::fail(base::Cause::resource_limit, "io_uring_setup");
  }
  return EpollReactor::make(limits);
}

}  // namespace ebb::reactor
