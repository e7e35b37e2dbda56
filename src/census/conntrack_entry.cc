#include "census/conntrack_entry.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

namespace ebb::census {
namespace {

// Builds a message of attributes from front to back.
class Request {
 public:
  explicit Request(const nfgenmsg& header) { append(header); }

  template <class T>
  void attribute(std::uint16_t type, const T& value) {
    append(nlattr{.nla_len = static_cast<std::uint16_t>(sizeof(nlattr) + sizeof(T)), .nla_type = type});
    append(value);
    bytes_.resize((bytes_.size() + 3) & ~std::size_t{3});
  }
  std::size_t begin(std::uint16_t type) {
    const std::size_t at = bytes_.size();
    append(nlattr{.nla_type = static_cast<std::uint16_t>(type | NLA_F_NESTED)});
    return at;
  }
  void end(std::size_t at) {
    const auto length = static_cast<std::uint16_t>(bytes_.size() - at);
    std::memcpy(bytes_.data() + at, &length, sizeof(length));  // nla_len comes first
  }
  Bytes bytes() const { return bytes_; }

 private:
  template <class T>
  void append(const T& value) {
    const auto* const first = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), first, first + sizeof(T));
  }

  std::vector<std::byte> bytes_;
};

Request request_for(const Tuple& tuple) {
  const bool v6 = tuple.source.family() == AF_INET6;
  Request request(
      nfgenmsg{.nfgen_family = static_cast<std::uint8_t>(v6 ? AF_INET6 : AF_INET), .version = NFNETLINK_V0});
  const std::size_t whole = request.begin(CTA_TUPLE_ORIG);
  const std::size_t addresses = request.begin(CTA_TUPLE_IP);
  if (v6) {
    request.attribute(CTA_IP_V6_SRC, reinterpret_cast<const sockaddr_in6*>(tuple.source.raw())->sin6_addr);
    request.attribute(CTA_IP_V6_DST, reinterpret_cast<const sockaddr_in6*>(tuple.destination.raw())->sin6_addr);
  } else {
    request.attribute(CTA_IP_V4_SRC, reinterpret_cast<const sockaddr_in*>(tuple.source.raw())->sin_addr);
    request.attribute(CTA_IP_V4_DST, reinterpret_cast<const sockaddr_in*>(tuple.destination.raw())->sin_addr);
  }
  request.end(addresses);
  const std::size_t ports = request.begin(CTA_TUPLE_PROTO);
  request.attribute(CTA_PROTO_NUM, std::uint8_t{IPPROTO_TCP});
  request.attribute(CTA_PROTO_SRC_PORT, htons(tuple.source.port()));
  request.attribute(CTA_PROTO_DST_PORT, htons(tuple.destination.port()));
  request.end(ports);
  request.end(whole);
  return request;
}

constexpr std::uint16_t type_of(std::uint16_t message) { return NFNL_SUBSYS_CTNETLINK << 8 | message; }

}  // namespace

std::expected<Tracked, int> find_entry(NetlinkSocket& tracking, const Tuple& original) {
  std::optional<Tracked> found;
  const auto take = [&found](const Message& message) {
    if (auto tracked = read_conntrack_message(message.body)) found = *tracked;
  };
  const auto asked = tracking.ask(type_of(IPCTNL_MSG_CT_GET), request_for(original).bytes(), take);
  if (!asked) return std::unexpected(asked.error());
  if (!found) return std::unexpected(ENOENT);
  return *found;
}

std::expected<void, int> delete_entry(NetlinkSocket& tracking, const Tracked& entry) {
  Request request = request_for(entry.original);
  request.attribute(CTA_ID, entry.id);
  return tracking.ask(type_of(IPCTNL_MSG_CT_DELETE), request.bytes());
}

}  // namespace ebb::census
