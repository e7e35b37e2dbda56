#include "reactor/datagram_control.h"

#include <cstring>

#include "reactor/sockets.h"

namespace ebb::reactor {

namespace {

template <class Value>
Value value_of(const cmsghdr& header) {
  Value value;
  std::memcpy(&value, CMSG_DATA(&header), sizeof(value));
  return value;
}

template <class Value>
void put(msghdr& message, DatagramControl& control, int level, int type, const Value& value) {
  message.msg_control = control.bytes;
  message.msg_controllen = CMSG_SPACE(sizeof(value));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  *header = {.cmsg_len = CMSG_LEN(sizeof(value)), .cmsg_level = level, .cmsg_type = type};
  std::memcpy(CMSG_DATA(header), &value, sizeof(value));
}

// ipi_addr is where the datagram was sent to, perhaps a broadcast address; ipi_spec_dst is ours to answer from (ip(7)).
base::Address local_of(const in_pktinfo& info, std::uint16_t port) {
  const sockaddr_in local = {
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = info.ipi_spec_dst, .sin_zero = {}};
  return base::Address::from(reinterpret_cast<const sockaddr*>(&local));
}

base::Address local_of(const in6_pktinfo& info, std::uint16_t port) {
  if (IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) return {};  // not an address to answer from
  sockaddr_in6 local = {};
  local.sin6_family = AF_INET6;
  local.sin6_port = htons(port);
  local.sin6_addr = info.ipi6_addr;
  if (IN6_IS_ADDR_LINKLOCAL(&info.ipi6_addr)) local.sin6_scope_id = info.ipi6_ifindex;
  return base::Address::from(reinterpret_cast<const sockaddr*>(&local));
}

}  // namespace

bool want_arrival(int socket, const base::Address& bound) {
  const bool told = bound.family() == AF_INET6 ? set_option(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1)
                                               : set_option(socket, IPPROTO_IP, IP_PKTINFO, 1);
  return told && set_option(socket, SOL_SOCKET, SO_RXQ_OVFL, 1);
}

Arrival read_arrival(const msghdr& message, std::uint16_t local_port) {
  Arrival arrival;
  msghdr& walked = const_cast<msghdr&>(message);  // CMSG_NXTHDR asks for it and does not write
  for (cmsghdr* header = CMSG_FIRSTHDR(&walked); header != nullptr; header = CMSG_NXTHDR(&walked, header)) {
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
      arrival.local = local_of(value_of<in_pktinfo>(*header), local_port);
    } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
      arrival.local = local_of(value_of<in6_pktinfo>(*header), local_port);
    } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SO_RXQ_OVFL) {
      arrival.dropped = value_of<std::uint32_t>(*header);
    }
  }
  return arrival;
}

void write_source(msghdr& message, DatagramControl& control, const base::Address& from) {
  if (from.family() == AF_INET) {
    const auto& raw = *reinterpret_cast<const sockaddr_in*>(from.raw());
    put(message, control, IPPROTO_IP, IP_PKTINFO,
        in_pktinfo{.ipi_ifindex = 0, .ipi_spec_dst = raw.sin_addr, .ipi_addr = {}});
  } else if (from.family() == AF_INET6) {
    const auto& raw = *reinterpret_cast<const sockaddr_in6*>(from.raw());
    put(message, control, IPPROTO_IPV6, IPV6_PKTINFO,
        in6_pktinfo{.ipi6_addr = raw.sin6_addr, .ipi6_ifindex = raw.sin6_scope_id});
  }
}

}  // namespace ebb::reactor
