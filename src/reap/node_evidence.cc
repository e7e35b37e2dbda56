#include "reap/node_evidence.h"

#include <algorithm>
#include <unordered_map>

#include "census/classify.h"
#include "census/give_up.h"
#include "reap/outgoing.h"

namespace ebb::reap {
namespace {

class Gathering {
 public:
  Gathering(const census::Sample& sample, const NodeOf& node_of)
      : sample_(sample), node_of_(node_of), outgoing_(sample) {}

  std::vector<NodeEvidence> run() {
    for (const census::Socket& socket : sample_.sockets) {
      if (census::is_open(socket.state) && socket.has_info && !socket.peer.is_loopback()) add(socket);
    }
    return std::move(nodes_);
  }

 private:
  void add(const census::Socket& socket) {
    NodeEvidence& node = node_at(socket.far_end());
    const std::int64_t answer = std::min(socket.last_received_ms, socket.last_acknowledged_ms);
    node.last_answer_ms = node.sockets == 0 ? answer : std::min(node.last_answer_ms, answer);
    ++node.sockets;
    // Incoming connections are not watched: clients come and go silently.
    const bool resends = socket.timer == census::Timer::retransmit;
    if (!resends && socket.timer != census::Timer::keepalive) return;
    if (!census::is_stalled(socket, 1) || !outgoing_.contains(socket)) return;
    const std::int64_t stall = census::stalled_ms(socket, sample_.limits_of(socket));
    if (resends) node.begun.add(stall);  // the next keepalive probe may be minutes away: no hurry
    if (!census::is_stalled(socket, stalled_time_outs)) return;
    if (node.stalled.sockets == 0) {
      node.witness = socket.far_end();
      node.space = sample_.spaces[socket.space].name;
    }
    node.stalled.add(stall);
    node.round_trip_us =
        std::max(node.round_trip_us, socket.rtt_us + 4 * std::int64_t{socket.rtt_variance_us});  // RFC 6298, 2.3
  }

  NodeEvidence& node_at(base::Address host) {
    host.set_port(0);
    const auto [found, is_new] = by_host_.try_emplace(host, nodes_.size());
    if (is_new) {
      std::string name = node_of_(host);
      if (name.empty()) name = host.host_text();
      const auto [named, first] = by_name_.try_emplace(std::move(name), nodes_.size());
      found->second = named->second;
      if (first) nodes_.push_back({.node = named->first});
    }
    return nodes_[found->second];
  }

  struct Hash {
    std::size_t operator()(const base::Address& address) const { return address.hash(); }
  };
  const census::Sample& sample_;
  const NodeOf& node_of_;
  const Outgoing outgoing_;
  std::vector<NodeEvidence> nodes_;
  std::unordered_map<base::Address, std::size_t, Hash> by_host_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

std::vector<NodeEvidence> gather_evidence(const census::Sample& sample, const NodeOf& node_of) {
  return Gathering(sample, node_of).run();
}

}  // namespace ebb::reap
