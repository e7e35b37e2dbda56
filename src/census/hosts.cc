#include "census/hosts.h"

#include <algorithm>

#include "census/classify.h"
#include "census/give_up.h"

namespace ebb::census {
namespace {

base::Address host_of(const Socket& socket) {
  base::Address host = socket.far_end();
  host.set_port(0);
  return host;
}

bool has_been_open(State state) {
  return is_open(state) || state == State::fin_wait1 || state == State::last_ack || state == State::closing;
}

bool is_witness(const Socket& socket) {
  if (socket.timer == Timer::retransmit) return is_stalled(socket, witness_time_outs);
  return socket.timer == Timer::keepalive && is_stalled(socket, witness_probes);
}

}  // namespace

Hosts::Hosts(const Sample& sample) {
  for (const Socket& socket : sample.sockets) {
    if (!has_been_open(socket.state) || !socket.has_info) continue;
    Host& host = hosts_[host_of(socket)];
    const std::int64_t answer = std::min(socket.last_received_ms, socket.last_acknowledged_ms);
    host.last_answer_ms = host.seen ? std::min(host.last_answer_ms, answer) : answer;
    host.seen = true;
    if (!is_witness(socket)) continue;
    const std::int64_t stall = stalled_ms(socket, sample.limits_of(socket));
    host.shortest_stall_ms = host.witnesses == 0 ? stall : std::min(host.shortest_stall_ms, stall);
    ++host.witnesses;
  }
}

bool Hosts::silent(const Socket& socket) const {
  if (!has_been_open(socket.state)) return false;
  const auto found = hosts_.find(host_of(socket));
  if (found == hosts_.end()) return false;
  const Host& host = found->second;
  return host.witnesses >= witnesses_min && host.last_answer_ms >= host.shortest_stall_ms;
}

}  // namespace ebb::census
