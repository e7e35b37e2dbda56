#include "census/netlink_reader.h"

#include <algorithm>

namespace ebb::census {
namespace {

constexpr std::size_t aligned(std::size_t length) { return (length + 3) & ~std::size_t{3}; }

// The last message may lack its padding.
Bytes behind(Bytes bytes, std::size_t length) { return bytes.subspan(std::min(aligned(length), bytes.size())); }

}  // namespace

std::optional<Message> Messages::next() {
  if (rest_.empty() || malformed_) return std::nullopt;
  const auto header = read_as<nlmsghdr>(rest_);
  if (!header || header->nlmsg_len < sizeof(nlmsghdr) || header->nlmsg_len > rest_.size()) {
    malformed_ = true;
    return std::nullopt;
  }
  const Bytes body = rest_.subspan(sizeof(nlmsghdr), header->nlmsg_len - sizeof(nlmsghdr));
  rest_ = behind(rest_, header->nlmsg_len);
  return Message{header->nlmsg_type, header->nlmsg_flags, header->nlmsg_seq, body};
}

std::optional<Attribute> Attributes::next() {
  if (rest_.empty() || malformed_) return std::nullopt;
  const auto header = read_as<nlattr>(rest_);
  if (!header || header->nla_len < sizeof(nlattr) || header->nla_len > rest_.size()) {
    malformed_ = true;
    return std::nullopt;
  }
  const Bytes value = rest_.subspan(sizeof(nlattr), header->nla_len - sizeof(nlattr));
  rest_ = behind(rest_, header->nla_len);
  return Attribute{static_cast<std::uint16_t>(header->nla_type & NLA_TYPE_MASK), value};
}

}  // namespace ebb::census
