#include "routes/address_set.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>

namespace ebb::routes {

namespace {

struct Number {
  bool v6;
  AddressNumber value;
};

AddressNumber from_bytes(const unsigned char* bytes, std::size_t count) {
  AddressNumber value = 0;
  for (std::size_t i = 0; i < count; ++i) value = (value << 8) | bytes[i];
  return value;
}

constexpr AddressNumber mapped_prefix = AddressNumber{0xffff} << 32;  // ::ffff:0:0/96 (RFC 4291 section 2.5.5.2)
constexpr AddressNumber mapped_mask = ~AddressNumber{0xffffffff};

std::optional<Number> number_of(const base::Address& address) {
  if (address.family() == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address.raw());
    return Number{false, ntohl(v4->sin_addr.s_addr)};
  }
  if (address.family() != AF_INET6) return std::nullopt;
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address.raw());
  const AddressNumber value = from_bytes(v6->sin6_addr.s6_addr, 16);
  if ((value & mapped_mask) == mapped_prefix) return Number{false, value & ~mapped_mask};
  return Number{true, value};
}

base::Address address_of(bool v6, AddressNumber value) {
  if (!v6) {
    sockaddr_in raw = {};
    raw.sin_family = AF_INET;
    raw.sin_addr.s_addr = htonl(static_cast<std::uint32_t>(value));
    return base::Address::from(reinterpret_cast<const sockaddr*>(&raw));
  }
  sockaddr_in6 raw = {};
  raw.sin6_family = AF_INET6;
  for (int i = 15; i >= 0; --i, value >>= 8) raw.sin6_addr.s6_addr[i] = static_cast<unsigned char>(value & 0xff);
  return base::Address::from(reinterpret_cast<const sockaddr*>(&raw));
}

// The bits behind a mask of `length` bits.
AddressNumber host_bits(bool v6, unsigned length) {
  const unsigned behind = (v6 ? 128u : 32u) - length;
  return behind == 128 ? ~AddressNumber{0} : (AddressNumber{1} << behind) - 1;
}

unsigned mask_length(const Cidr& range) {
  unsigned length = range.v6 ? 128 : 32;
  for (AddressNumber size = range.last - range.first; size != 0; size >>= 1) length -= 1;
  return length;
}

}  // namespace

std::optional<base::Address> parse_ip(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.size() >= sizeof(terminated)) return std::nullopt;
  *std::ranges::copy(text, terminated).out = '\0';
  // A zero byte inside would end the text early for inet_pton.
  if (std::strlen(terminated) != text.size()) return std::nullopt;
  unsigned char bytes[16];
  if (inet_pton(AF_INET, terminated, bytes) == 1) return address_of(false, from_bytes(bytes, 4));
  if (inet_pton(AF_INET6, terminated, bytes) == 1) return address_of(true, from_bytes(bytes, 16));
  return std::nullopt;
}

std::expected<Cidr, std::string> Cidr::parse(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto address = parse_ip(text.substr(0, slash));
  if (!address) return std::unexpected("this is not an address in numbers");
  const bool written_as_v6 = address->family() == AF_INET6;
  const Number number = *number_of(*address);

  unsigned length = written_as_v6 ? 128 : 32;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const unsigned longest = length;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), length);
    const bool padded = digits.size() > 1 && digits.front() == '0';
    if (error != std::errc{} || end != digits.data() + digits.size() || padded || length > longest) {
      return std::unexpected("the length of the mask is a number from 0 to " + std::to_string(longest));
    }
  }
  if (written_as_v6 && !number.v6) {
    if (length < 96) return std::unexpected("an IPv4-mapped address has a mask of at least 96 bits");
    length -= 96;
  }
  const AddressNumber behind = host_bits(number.v6, length);
  if ((number.value & behind) != 0) {
    const Cidr meant{number.v6, number.value & ~behind, number.value | behind};
    return std::unexpected("it has bits behind its mask; the network is " + meant.text());
  }
  return Cidr{number.v6, number.value, number.value | behind};
}

std::string Cidr::text() const { return address_of(v6, first).host_text() + "/" + std::to_string(mask_length(*this)); }

AddressSet::AddressSet(std::span<const Cidr> ranges) : ranges_(ranges.begin(), ranges.end()) {
  std::ranges::sort(ranges_, {}, [](const Cidr& range) { return std::tie(range.v6, range.first); });
  std::vector<Cidr> merged;
  for (const Cidr& range : ranges_) {
    const bool overlaps = !merged.empty() && merged.back().v6 == range.v6 && range.first <= merged.back().last;
    if (overlaps) {
      merged.back().last = std::max(merged.back().last, range.last);
    } else {
      merged.push_back(range);
    }
  }
  ranges_ = std::move(merged);
}

bool AddressSet::contains(const base::Address& address) const {
  const auto number = number_of(address);
  if (!number) return false;
  const auto behind = std::ranges::upper_bound(ranges_, std::tie(number->v6, number->value), {},
                                               [](const Cidr& range) { return std::tie(range.v6, range.first); });
  if (behind == ranges_.begin()) return false;
  const Cidr& candidate = *std::prev(behind);
  return candidate.v6 == number->v6 && number->value <= candidate.last;
}

}  // namespace ebb::routes
