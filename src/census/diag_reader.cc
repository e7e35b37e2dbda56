#include "census/diag_reader.h"

#include <linux/inet_diag.h>
#include <netinet/in.h>

#include <algorithm>

namespace ebb::census {
namespace {

// A program with a dual-stack socket sees ::ffff:a.b.c.d; packets, conntrack and users know a.b.c.d.
base::Address address_of(std::uint8_t family, const std::uint32_t (&words)[4], std::uint16_t port) {
  const bool mapped = family == AF_INET6 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  if (family == AF_INET || mapped) {
    sockaddr_in v4{.sin_family = AF_INET, .sin_port = port};
    v4.sin_addr.s_addr = mapped ? words[3] : words[0];
    return base::Address::from(reinterpret_cast<const sockaddr*>(&v4));
  }
  sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = port};
  std::memcpy(&v6.sin6_addr, words, sizeof(v6.sin6_addr));
  return base::Address::from(reinterpret_cast<const sockaddr*>(&v6));
}

template <class T>
void read_at(Bytes bytes, std::size_t offset, auto& into) {
  if (offset > bytes.size()) return;
  if (const auto value = read_as<T>(bytes.subspan(offset))) into = *value;
}

bool read_attribute(const Attribute& attribute, Socket& into) {
  switch (attribute.type) {
    case INET_DIAG_INFO:
      if (attribute.value.size() < 104) return false;  // size in Linux 2.6
      read_tcp_info(attribute.value, into);
      return true;
    case INET_DIAG_MEMINFO: {
      const auto memory = read_as<inet_diag_meminfo>(attribute.value);
      if (!memory) return false;
      into.memory = std::uint64_t{memory->idiag_rmem} + memory->idiag_wmem + memory->idiag_fmem;
      return true;
    }
    case INET_DIAG_MARK: {
      const auto mark = read_as<std::uint32_t>(attribute.value);
      into.mark = mark.value_or(0);
      return mark.has_value();
    }
    case INET_DIAG_CGROUP_ID: {
      const auto cgroup = read_as<std::uint64_t>(attribute.value);
      into.cgroup = cgroup.value_or(0);
      return cgroup.has_value();
    }
    default: return true;
  }
}

}  // namespace

// Offsets of struct tcp_info of Linux 6.18, which grows only at its end.
void read_tcp_info(Bytes bytes, Socket& into) {
  into.has_info = true;
  read_at<std::uint8_t>(bytes, 2, into.retransmits);
  read_at<std::uint8_t>(bytes, 3, into.probes);
  read_at<std::uint8_t>(bytes, 4, into.backoff);
  read_at<std::uint32_t>(bytes, 8, into.rto_us);
  read_at<std::uint32_t>(bytes, 24, into.unacknowledged);
  read_at<std::uint32_t>(bytes, 44, into.last_sent_ms);
  read_at<std::uint32_t>(bytes, 52, into.last_received_ms);
  read_at<std::uint32_t>(bytes, 56, into.last_acknowledged_ms);
  read_at<std::uint32_t>(bytes, 68, into.rtt_us);
  read_at<std::uint32_t>(bytes, 72, into.rtt_variance_us);
  read_at<std::uint64_t>(bytes, 120, into.bytes_acknowledged);
  read_at<std::uint64_t>(bytes, 128, into.bytes_received);
  read_at<std::uint32_t>(bytes, 144, into.not_sent);
  read_at<std::uint32_t>(bytes, 152, into.segments_received);
  read_at<std::uint32_t>(bytes, 156, into.segments_sent);
  read_at<std::uint16_t>(bytes, 242, into.stalls);
  read_at<std::uint32_t>(bytes, 244, into.stalled_ms);
}

std::optional<Socket> read_diag_message(Bytes body) {
  const auto message = read_as<inet_diag_msg>(body);
  if (!message || (message->idiag_family != AF_INET && message->idiag_family != AF_INET6)) return std::nullopt;
  if (message->idiag_state == 0 || message->idiag_state >= state_names.size()) return std::nullopt;
  if (message->idiag_timer >= timer_names.size()) return std::nullopt;
  const inet_diag_sockid& id = message->id;
  Socket socket{.cookie = std::uint64_t{id.idiag_cookie[1]} << 32 | id.idiag_cookie[0],
                .local = address_of(message->idiag_family, id.idiag_src, id.idiag_sport),
                .peer = address_of(message->idiag_family, id.idiag_dst, id.idiag_dport),
                .state = static_cast<State>(message->idiag_state),
                .timer = static_cast<Timer>(message->idiag_timer),
                .timer_ms = message->idiag_expires,
                .timer_count = message->idiag_retrans,
                .receive_queue = message->idiag_rqueue,
                .send_queue = message->idiag_wqueue,
                .uid = message->idiag_uid,
                .inode = message->idiag_inode,
                .interface = id.idiag_if};
  Attributes attributes(body.subspan(std::min(body.size(), (sizeof(inet_diag_msg) + 3) & ~std::size_t{3})));
  while (const auto attribute = attributes.next()) {
    if (!read_attribute(*attribute, socket)) return std::nullopt;
  }
  if (attributes.malformed()) return std::nullopt;
  return socket;
}

}  // namespace ebb::census
