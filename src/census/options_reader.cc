#include "census/options_reader.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace ebb::census {
namespace {

bool get(int socket, int level, int option, auto& into) {
  const auto value = read_option(socket, level, option);
  if (value) into = static_cast<std::remove_reference_t<decltype(into)>>(*value);
  return value.has_value();
}

}  // namespace

bool OptionsReader::read(const Process& process, Socket& socket) {
  const reactor::Descriptor twin = twins_.open(process, socket);
  if (!twin) return false;
  // There may be a hundred thousand sockets: skip options that the timer shows, or that cannot matter.
  Options options;
  options.known = get(twin.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms);
  options.keepalive = socket.timer == Timer::keepalive;
  if (socket.timer != Timer::keepalive && socket.timer != Timer::none) {  // sock_diag reports only one timer
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
