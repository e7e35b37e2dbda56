#include "routes/client_network.h"

#include <netinet/in.h>

#include <cstring>

namespace ebb::routes {

ClientNetwork ClientNetwork::of(const base::Address& client) {
  ClientNetwork network;
  if (client.family() == AF_INET) {
    network.bits = reinterpret_cast<const sockaddr_in*>(client.raw())->sin_addr.s_addr;
  } else if (client.family() == AF_INET6) {
    const in6_addr& address = reinterpret_cast<const sockaddr_in6*>(client.raw())->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
      std::uint32_t v4;
      std::memcpy(&v4, address.s6_addr + 12, sizeof(v4));
      network.bits = v4;
    } else {
      std::memcpy(&network.bits, address.s6_addr, sizeof(network.bits));
      network.v6 = true;
    }
  }
  return network;
}

}  // namespace ebb::routes
