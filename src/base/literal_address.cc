#include "base/literal_address.h"

#include "base/address.h"

namespace ebb::base {

std::string literal_address(std::string_view text) {
  auto parsed = Address::parse(std::string(text) + ":0");
  if (!parsed && !text.starts_with('[')) parsed = Address::parse("[" + std::string(text) + "]:0");
  return parsed ? parsed->host_text() : "";
}

std::string as_authority(std::string_view host) {
  const std::string address = literal_address(host);
  return address.contains(':') ? "[" + address + "]" : std::string(host);
}

}  // namespace ebb::base
