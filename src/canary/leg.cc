#include "canary/leg.h"

#include <fmt/format.h>

#include "base/literal_address.h"

namespace ebb::canary {
namespace {

// "shop.example.com:8443" without its port, and an IPv6 address without brackets.
std::string host_of(const std::string& authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

std::expected<std::shared_ptr<const wire::ClientContext>, std::string> context_for(const Door& door, Protocol protocol,
                                                                                   const Trust& trust) {
  const std::string host = host_of(door.authority);
  wire::ClientOptions options;
  options.proof = trust.verify ? wire::BackendProof::name : wire::BackendProof::nothing;
  options.authorities = trust.authorities;
  options.verified_name = host;
  if (base::literal_address(host).empty())
    options.server_name = host;  // RFC 6066 section 3: addresses are not server names
  options.alpn = {protocol == Protocol::h2 ? "h2" : "http/1.1"};
  // A resumed session shows no certificate, so a bad new certificate would go unnoticed.
  options.resume = false;
  return wire::ClientContext::build(options);
}

}  // namespace

std::string Leg::name() const { return fmt::format("{}/{}/{}", replica, canary::name(kind), canary::name(protocol)); }

std::expected<std::vector<Leg>, std::string> lay_out(const std::vector<Door>& doors, const Trust& trust) {
  std::vector<Leg> legs;
  for (const Door& door : doors) {
    for (const Protocol protocol : door.protocols) {
      Leg leg{door.replica, door.kind, protocol, door.host, door.port, door.authority, door.path, door.own, nullptr};
      if (secured(door.kind)) {
        auto context = context_for(door, protocol, trust);
        if (!context) return std::unexpected(fmt::format("{}: {}", leg.name(), context.error()));
        leg.tls = std::move(*context);
      }
      legs.push_back(std::move(leg));
    }
  }
  return legs;
}

}  // namespace ebb::canary
