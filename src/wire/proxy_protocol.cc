#include "wire/proxy_protocol.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

namespace ebb::wire {

namespace {

using base::Address;
using std::string_view_literals::operator""sv;

constexpr std::string_view v1_signature = "PROXY ";
constexpr std::size_t v1_line_max = 107;  // section 2.1, with its CRLF
constexpr std::string_view v2_signature = "\r\n\r\n\0\r\nQUIT\n"sv;
constexpr std::size_t v2_fixed_bytes = 16;
constexpr std::size_t v2_block_max = proxy_header_bytes_max - v2_fixed_bytes;

enum Command : std::uint8_t { local = 0x20, proxy = 0x21 };  // with the version in the high half
enum Family : std::uint8_t {
  unspecified = 0x00,
  tcp4 = 0x11,
  udp4 = 0x12,
  tcp6 = 0x21,
  udp6 = 0x22,
  unix_stream = 0x31,
  unix_datagram = 0x32,
};
constexpr std::uint8_t tlv_crc32c = 0x03;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }
std::size_t short_at(std::string_view bytes, std::size_t at) {
  return std::size_t{byte_at(bytes, at)} << 8 | byte_at(bytes, at + 1);
}

Parsed refuse(ProxyHeader& out, const char* why) {
  out = {};
  return {.status = Parsed::Status::refused, .cause = base::Cause::client_bad_proxy_header, .why = why};
}

Parsed complete(std::size_t consumed) {
  return {.status = Parsed::Status::complete, .consumed = static_cast<std::uint32_t>(consumed)};
}

bool is_port(std::string_view text) {
  const bool digits = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  const bool leading_zero = text.size() > 1 && text.front() == '0';  // section 2.1: some read octal
  return digits && !text.empty() && !leading_zero;
}

std::optional<Address> read_address(std::string_view host, std::string_view port, bool is_v6) {
  // Only characters of addresses: a NUL would end the text for inet_pton, a bracket or colon would change its meaning.
  if (host.find_first_not_of(is_v6 ? "0123456789abcdefABCDEF:." : "0123456789.") != std::string_view::npos) return {};
  if (!is_port(port)) return {};
  std::string text = is_v6 ? "[" + std::string(host) + "]:" : std::string(host) + ":";
  return Address::parse(text.append(port));
}

// Takes the text up to the next space, including the space.
std::string_view next_word(std::string_view& line) {
  const std::size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  return word;
}

// `line` excludes the signature and the end of line.
const char* read_v1_line(std::string_view line, ProxyHeader& out) {
  const std::string_view protocol = next_word(line);
  if (protocol == "UNKNOWN") return nullptr;  // ignore the rest
  if (protocol != "TCP4" && protocol != "TCP6") return "neither TCP4, TCP6 nor UNKNOWN";
  const std::string_view source = next_word(line);
  const std::string_view destination = next_word(line);
  const std::string_view source_port = next_word(line);
  const std::string_view destination_port = line;  // the rest: with a further word it is not a number
  const bool is_v6 = protocol == "TCP6";
  const auto from = read_address(source, source_port, is_v6);
  const auto to = read_address(destination, destination_port, is_v6);
  if (!from || !to) return "an address or port is malformed";
  out.source = *from;
  out.destination = *to;
  return nullptr;
}

Parsed read_v1(std::string_view bytes, ProxyHeader& out) {
  const std::size_t end = bytes.substr(0, v1_line_max).find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() < v1_line_max ? Parsed{} : refuse(out, "the line is longer than 107 bytes");
  }
  if (bytes[end - 1] != '\r') return refuse(out, "the line does not end with CRLF");
  const std::string_view line = bytes.substr(v1_signature.size(), end - 1 - v1_signature.size());
  if (const char* why = read_v1_line(line, out)) return refuse(out, why);
  return complete(end + 1);
}

constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  constexpr std::uint32_t castagnoli = 0x82f63b78;  // RFC 4960 appendix B, bits reversed
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ ((remainder & 1) != 0 ? castagnoli : 0);
    table[byte] = remainder;
  }
  return table;
}();

// The checksum covers the whole header, with zeros in place of the checksum (section 2.2.4).
std::uint32_t crc32c_without(std::string_view header, std::size_t hole) {
  std::uint32_t sum = ~std::uint32_t{0};
  for (std::size_t at = 0; at < header.size(); ++at) {
    const std::uint8_t byte = at >= hole && at < hole + 4 ? 0 : byte_at(header, at);
    sum = sum >> 8 ^ crc32c_table[(sum ^ byte) & 0xff];
  }
  return ~sum;
}

const char* check_tlvs(std::string_view header, std::size_t at) {
  bool saw_checksum = false;
  while (at < header.size()) {
    if (header.size() - at < 3) return "a TLV is cut short";
    const std::size_t value = at + 3;
    const std::size_t length = short_at(header, at + 1);
    if (length > header.size() - value) return "a TLV is longer than the header";
    if (byte_at(header, at) == tlv_crc32c) {
      if (length != 4 || std::exchange(saw_checksum, true)) return "the checksum is malformed";
      const std::size_t sum = short_at(header, value) << 16 | short_at(header, value + 2);
      if (sum != crc32c_without(header, value)) return "the checksum does not match";
    }
    at = value + length;
  }
  return nullptr;
}

Address address_v4(std::string_view octets, std::string_view port) {
  sockaddr_in raw{};
  raw.sin_family = AF_INET;
  std::memcpy(&raw.sin_addr, octets.data(), sizeof(raw.sin_addr));
  std::memcpy(&raw.sin_port, port.data(), sizeof(raw.sin_port));
  return Address::from(reinterpret_cast<const sockaddr*>(&raw));
}

Address address_v6(std::string_view octets, std::string_view port) {
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  std::memcpy(&raw.sin6_addr, octets.data(), sizeof(raw.sin6_addr));
  std::memcpy(&raw.sin6_port, port.data(), sizeof(raw.sin6_port));
  return Address::from(reinterpret_cast<const sockaddr*>(&raw));
}

// Size of the addresses of this family; nullopt for a family that section 2.2 does not define.
std::optional<std::size_t> address_bytes(std::uint8_t family) {
  switch (family) {
    case unspecified: return 0;
    case tcp4:
    case udp4: return 4 + 4 + 2 + 2;
    case tcp6:
    case udp6: return 16 + 16 + 2 + 2;
    case unix_stream:
    case unix_datagram: return 108 + 108;
    default: return std::nullopt;
  }
}

// `header` is complete. The content of a command or family without IP addresses is skipped, as section 2.2 requires.
const char* read_v2_block(std::string_view header, ProxyHeader& out) {
  const std::uint8_t family = byte_at(header, 13);
  const auto expected = address_bytes(family);
  if (byte_at(header, 12) == local) return nullptr;
  if (!expected) return "the address family or transport is not defined";
  const std::string_view block = header.substr(v2_fixed_bytes);
  if (block.size() < *expected) return "the addresses are cut short";
  if (family == unspecified) return nullptr;
  if (family == tcp4 || family == udp4) {
    out.source = address_v4(block, block.substr(8));
    out.destination = address_v4(block.substr(4), block.substr(10));
  } else if (family == tcp6 || family == udp6) {
    out.source = address_v6(block, block.substr(32));
    out.destination = address_v6(block.substr(16), block.substr(34));
  }
  out.datagram = out.has_addresses() && (family & 0x0f) == 2;
  return check_tlvs(header, v2_fixed_bytes + *expected);
}

Parsed read_v2(std::string_view bytes, ProxyHeader& out) {
  if (bytes.size() < v2_fixed_bytes) return {};
  if (byte_at(bytes, 12) != local && byte_at(bytes, 12) != proxy) return refuse(out, "not version 2, or no command");
  const std::size_t block = short_at(bytes, 14);
  if (block > v2_block_max) return refuse(out, "the header is larger than 4 KiB");
  const std::size_t size = v2_fixed_bytes + block;
  if (bytes.size() < size) return {};
  if (const char* why = read_v2_block(bytes.substr(0, size), out)) return refuse(out, why);
  return complete(size);
}

bool begins_with(std::string_view bytes, std::string_view signature) {
  return bytes.substr(0, signature.size()) == signature.substr(0, bytes.size());
}

void append_short(base::Slice& out, std::size_t value) {
  const char bytes[] = {static_cast<char>(value >> 8), static_cast<char>(value)};
  out.append({bytes, sizeof(bytes)});
}

std::string_view octets_of(const Address& address) {
  if (address.family() == AF_INET6) {
    const auto* raw = reinterpret_cast<const sockaddr_in6*>(address.raw());
    return {reinterpret_cast<const char*>(&raw->sin6_addr), sizeof(raw->sin6_addr)};
  }
  const auto* raw = reinterpret_cast<const sockaddr_in*>(address.raw());
  return {reinterpret_cast<const char*>(&raw->sin_addr), sizeof(raw->sin_addr)};
}

// RFC 4291 section 2.5.5.2.
Address mapped(const Address& address) {
  if (address.family() == AF_INET6) return address;
  sockaddr_in6 raw{};
  raw.sin6_family = AF_INET6;
  raw.sin6_port = htons(address.port());
  raw.sin6_addr.s6_addr[10] = 0xff;
  raw.sin6_addr.s6_addr[11] = 0xff;
  std::memcpy(&raw.sin6_addr.s6_addr[12], octets_of(address).data(), 4);
  return Address::from(reinterpret_cast<const sockaddr*>(&raw));
}

base::Slice write_v1(base::BlockPool& pool, const ProxyHeader& header) {
  if (!header.has_addresses()) return pool.copy("PROXY UNKNOWN\r\n");
  std::string line(v1_signature);
  line += header.source.family() == AF_INET6 ? "TCP6 " : "TCP4 ";
  line += header.source.host_text() + " " + header.destination.host_text();
  line += " " + std::to_string(header.source.port()) + " " + std::to_string(header.destination.port()) + "\r\n";
  return pool.copy(line);
}

base::Slice write_v2(base::BlockPool& pool, const ProxyHeader& header) {
  const bool is_v6 = header.source.family() == AF_INET6;
  const std::uint8_t stream = is_v6 ? tcp6 : tcp4;
  const std::uint8_t family = header.datagram ? stream + 1 : stream;
  base::Slice out = pool.take(base::BlockPool::small_size);
  out.append(v2_signature);
  append_short(out, header.has_addresses() ? proxy << 8 | family : local << 8 | unspecified);
  append_short(out, header.has_addresses() ? *address_bytes(family) : 0);
  if (!header.has_addresses()) return out;
  out.append(octets_of(header.source));
  out.append(octets_of(header.destination));
  append_short(out, header.source.port());
  append_short(out, header.destination.port());
  return out;
}

}  // namespace

Parsed parse_proxy_header(std::string_view bytes, ProxyHeader& out) {
  out = {};
  const bool maybe_v1 = begins_with(bytes, v1_signature);
  const bool maybe_v2 = begins_with(bytes, v2_signature);
  if (!maybe_v1 && !maybe_v2) return refuse(out, "no PROXY protocol header");
  if (bytes.size() < v1_signature.size()) return {};
  return maybe_v1 ? read_v1(bytes, out) : read_v2(bytes, out);
}

base::Slice write_proxy_header(base::BlockPool& pool, ProxyVersion version, const ProxyHeader& header) {
  EBB_ASSERT(header.source.valid() == header.destination.valid());
  EBB_ASSERT(version == ProxyVersion::v2 || !header.datagram);
  ProxyHeader same_family = header;
  if (header.source.family() != header.destination.family()) {
    same_family.source = mapped(header.source);
    same_family.destination = mapped(header.destination);
  }
  return version == ProxyVersion::v1 ? write_v1(pool, same_family) : write_v2(pool, same_family);
}

}  // namespace ebb::wire
