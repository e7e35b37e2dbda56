// The facts of a socket by name, for writing as JSON and reading back. Writer and reader share this list.
#pragma once

#include "census/socket.h"

namespace ebb::census {

// Calls visit(name, number) for each; numbers are unsigned, or bool.
template <class Self, class Visit>
void each_number(Self& socket, Visit&& visit) {
  visit("cookie", socket.cookie);
  visit("timer_ms", socket.timer_ms);
  visit("timer_count", socket.timer_count);
  visit("receive_queue", socket.receive_queue);
  visit("send_queue", socket.send_queue);
  visit("uid", socket.uid);
  visit("inode", socket.inode);
  visit("fd", socket.fd);
  visit("mark", socket.mark);
  visit("interface", socket.interface);
  visit("memory", socket.memory);
  visit("cgroup", socket.cgroup);
}

// As above, for TCP_INFO; the unit is in the name.
template <class Self, class Visit>
void each_info_number(Self& socket, Visit&& visit) {
  visit("retransmits", socket.retransmits);
  visit("probes", socket.probes);
  visit("backoff", socket.backoff);
  visit("rto_us", socket.rto_us);
  visit("rtt_us", socket.rtt_us);
  visit("rtt_variance_us", socket.rtt_variance_us);
  visit("unacknowledged", socket.unacknowledged);
  visit("not_sent", socket.not_sent);
  visit("last_sent_ms", socket.last_sent_ms);
  visit("last_received_ms", socket.last_received_ms);
  visit("last_acknowledged_ms", socket.last_acknowledged_ms);
  visit("segments_sent", socket.segments_sent);
  visit("segments_received", socket.segments_received);
  visit("bytes_acknowledged", socket.bytes_acknowledged);
  visit("bytes_received", socket.bytes_received);
  visit("stalls", socket.stalls);
  visit("stalled_ms", socket.stalled_ms);
}

template <class Self, class Visit>
void each_option(Self& options, Visit&& visit) {
  visit("keepalive", options.keepalive);
  visit("keepalive_idle_s", options.keepalive_idle_s);
  visit("keepalive_interval_s", options.keepalive_interval_s);
  visit("keepalive_probes", options.keepalive_probes);
  visit("user_timeout_ms", options.user_timeout_ms);
  visit("rto_max_ms", options.rto_max_ms);
  visit("syn_retries", options.syn_retries);
}

}  // namespace ebb::census
