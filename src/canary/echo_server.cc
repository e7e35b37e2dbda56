#include "canary/echo_server.h"

#include <sys/socket.h>

#include <system_error>

#include "reactor/sockets.h"

namespace ebb::canary {

namespace {

// Answers that wait for the rest of a TLS message: few.
constexpr std::size_t held_bytes_max = std::size_t{256} << 10;

}  // namespace

EchoServer::EchoServer(reactor::EpollReactor& reactor, EchoIdentity identity,
                       std::shared_ptr<const wire::ServerContext> tls, const EchoLimits& limits)
    : reactor_(reactor),
      desk_(std::move(identity), reactor.blocks(), reactor.clock()),
      grace_(limits.grace),
      serve_(reactor),
      service_(serve_.offer({.speak =
                                 [this](const serve::Arrival& arrival) {
                                   const auto alpn = arrival.secured ? std::optional(arrival.alpn) : std::nullopt;
                                   return std::make_unique<EchoSession>(desk_, arrival.port, alpn);
                                 },
                             .tls = std::move(tls),
                             .plain_too = true,
                             .budget = {.connections = limits.connections},
                             .times = {.first = limits.request,
                                       .request = limits.idle,
                                       .rest_of_request = limits.request,
                                       .tunnel = limits.tunnel,
                                       .write = limits.write,
                                       .part = limits.linger},
                             .held_max = held_bytes_max})) {}

std::uint16_t EchoServer::listen(std::uint16_t port, std::string& error) {
  for (const char* const everywhere : {"0.0.0.0:0", "[::]:0"}) {
    base::Address address = *base::Address::parse(everywhere);
    address.set_port(port);
    const int taken = reactor::try_bind(address, SOCK_STREAM);
    if (taken == EAFNOSUPPORT || taken == EADDRNOTAVAIL) continue;  // a machine without IPv6, or without IPv4
    const auto opened =
        taken != 0 ? base::fail(base::Cause::internal, "bind", taken) : serve_.listen(service_, address);
    if (!opened) {
      error = address.text() + ": " + std::generic_category().message(opened.error().sys);
      return 0;
    }
    port = reactor_.local_address(*opened).port();
  }
  if (port == 0) error = "this machine has neither IPv4 nor IPv6";
  return port;
}

}  // namespace ebb::canary
