#include "census/conntrack_reader.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <optional>

#include "base/result.h"

namespace ebb::census {
namespace {

// An address of either family from its attribute; the port has a separate attribute.
std::optional<base::Address> address_of(Bytes value) {
  if (const auto v6 = read_as<in6_addr>(value)) {
    sockaddr_in6 address{.sin6_family = AF_INET6};
    address.sin6_addr = *v6;
    return base::Address::from(reinterpret_cast<const sockaddr*>(&address));
  }
  const auto v4 = read_as<in_addr>(value);
  if (!v4) return std::nullopt;
  sockaddr_in address{.sin_family = AF_INET};
  address.sin_addr = *v4;
  return base::Address::from(reinterpret_cast<const sockaddr*>(&address));
}

bool read_addresses(Bytes nested, Tuple& into) {
  Attributes attributes(nested);
  while (const auto attribute = attributes.next()) {
    const bool source = attribute->type == CTA_IP_V4_SRC || attribute->type == CTA_IP_V6_SRC;
    if (!source && attribute->type != CTA_IP_V4_DST && attribute->type != CTA_IP_V6_DST) continue;
    const auto address = address_of(attribute->value);
    if (!address) return false;
    (source ? into.source : into.destination) = *address;
  }
  return !attributes.malformed();
}

struct Ports {
  std::uint8_t protocol = 0;
  std::uint16_t source = 0;
  std::uint16_t destination = 0;
};

std::optional<Ports> read_ports(Bytes nested) {
  Ports ports;
  Attributes attributes(nested);
  while (const auto attribute = attributes.next()) {
    if (attribute->type == CTA_PROTO_NUM) {
      const auto number = read_as<std::uint8_t>(attribute->value);
      if (!number) return std::nullopt;
      ports.protocol = *number;
    }
    if (attribute->type == CTA_PROTO_SRC_PORT || attribute->type == CTA_PROTO_DST_PORT) {
      const auto port = read_as<std::uint16_t>(attribute->value);
      if (!port) return std::nullopt;
      (attribute->type == CTA_PROTO_SRC_PORT ? ports.source : ports.destination) = ntohs(*port);
    }
  }
  if (attributes.malformed()) return std::nullopt;
  return ports;
}

std::expected<Tuple, TrackedFault> read_tuple(Bytes nested) {
  Tuple tuple;
  std::optional<Ports> ports;
  Attributes attributes(nested);
  while (const auto attribute = attributes.next()) {
    if (attribute->type == CTA_TUPLE_IP && !read_addresses(attribute->value, tuple)) {
      return std::unexpected(TrackedFault::malformed);
    }
    if (attribute->type == CTA_TUPLE_PROTO) ports = read_ports(attribute->value);
  }
  if (attributes.malformed() || !ports) return std::unexpected(TrackedFault::malformed);
  if (ports->protocol != IPPROTO_TCP) return std::unexpected(TrackedFault::other_protocol);
  if (!tuple.source.valid() || !tuple.destination.valid()) return std::unexpected(TrackedFault::malformed);
  tuple.source.set_port(ports->source);
  tuple.destination.set_port(ports->destination);
  return tuple;
}

}  // namespace

std::expected<Tracked, TrackedFault> read_conntrack_message(Bytes body) {
  if (!read_as<nfgenmsg>(body)) return std::unexpected(TrackedFault::malformed);
  std::optional<Tuple> original;
  std::optional<Tuple> reply;
  std::uint32_t id = 0;
  Attributes attributes(body.subspan(sizeof(nfgenmsg)));
  while (const auto attribute = attributes.next()) {
    if (attribute->type == CTA_TUPLE_ORIG) original = EBB_TRY(read_tuple(attribute->value));
    if (attribute->type == CTA_TUPLE_REPLY) reply = EBB_TRY(read_tuple(attribute->value));
    if (attribute->type == CTA_ID) id = read_as<std::uint32_t>(attribute->value).value_or(0);
  }
  if (attributes.malformed() || !original || !reply) return std::unexpected(TrackedFault::malformed);
  return Tracked{*original, *reply, id};
}

}  // namespace ebb::census
