#include "routes/client_address.h"

namespace ebb::routes {

namespace {

// More hops than this are not a chain of proxies but somebody's attempt to keep us busy.
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

base::Address client_address(const base::Address& peer, const HeaderSource& headers, const AddressSet& trusted) {
  constexpr std::string_view field = "x-forwarded-for";
  base::Address client = peer;
  std::size_t lines = 0;
  while (lines < hops_max && headers.line(field, lines)) lines += 1;
  int hops = 0;
  while (lines > 0) {
    std::string_view line = *headers.line(field, --lines);
    while (true) {
      if (!trusted.contains(client) || ++hops > hops_max) return client;
      const std::size_t comma = line.rfind(',');
      const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
      const auto address = hop_address(trimmed(line.substr(begin)));
      if (!address) return client;
      client = *address;
      if (comma == std::string_view::npos) break;
      line = line.substr(0, comma);
    }
  }
  return client;
}

}  // namespace ebb::routes
