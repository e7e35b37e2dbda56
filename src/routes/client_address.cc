#include "routes/client_address.h"

#include <optional>

namespace ebb::routes {

namespace {

// A longer list is not a real chain of proxies but an attempt to waste CPU time.
constexpr int hops_max = 32;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Some proxies add the port: "192.0.2.1:4711", "[2001:db8::1]:4711".
std::optional<base::Address> hop_address(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    return parse_ip(text.substr(1, close - 1));
  }
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && text.find(':', colon + 1) == std::string_view::npos) {
    text = text.substr(0, colon);
  }
  return parse_ip(text);
}

}  // namespace

// From the end: the peer itself wrote the last line, and a client can put any lines before it.
ClientAddress client_address(const base::Address& peer, const HeaderSource& headers, const AddressSet& trusted) {
  using Hops = ClientAddress::Hops;
  constexpr std::string_view field = "x-forwarded-for";
  if (!trusted.contains(peer)) return {peer};
  base::Address client = peer;
  int hops = 0;
  for (std::size_t lines = headers.lines(field); lines > 0; --lines) {
    std::string_view line = *headers.line(field, lines - 1);
    for (std::size_t comma = 0; comma != std::string_view::npos; line = line.substr(0, comma)) {
      comma = line.rfind(',');
      const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
      const auto address = hop_address(trimmed(line.substr(begin)));
      if (!address) return {client, Hops::hidden};
      client = *address;
      if (!trusted.contains(client)) return {client};
      if (++hops > hops_max) return {client, Hops::too_many};
    }
  }
  return {client};
}

}  // namespace ebb::routes
