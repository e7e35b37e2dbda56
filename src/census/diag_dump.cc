#include "census/diag_dump.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "census/diag_reader.h"

namespace ebb::census {
namespace {

constexpr int attempts_max = 4;
constexpr std::uint8_t extensions = 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_MEMINFO - 1);

void write_end(const base::Address& address, std::uint32_t (&words)[4], std::uint16_t& port) {
  port = htons(address.port());
  if (address.family() == AF_INET6) {
    std::memcpy(words, &reinterpret_cast<const sockaddr_in6*>(address.raw())->sin6_addr, sizeof(in6_addr));
  } else {
    std::memcpy(words, &reinterpret_cast<const sockaddr_in*>(address.raw())->sin_addr, sizeof(in_addr));
  }
}

}  // namespace

// The older of the kernel's two requests: it covers both families (inet_diag_dump_compat). Every dump walks the table
// of all namespaces, so one request per family would cost twice as much.
std::expected<void, int> dump_sockets(NetlinkSocket& diag, const DiagAsked& asked, std::vector<Socket>& into,
                                      DiagMissed& missed) {
  const inet_diag_req request{.idiag_family = AF_UNSPEC, .idiag_ext = extensions, .idiag_states = asked.states};
  const auto take = [&](const Message& message) {
    const auto socket = message.type == TCPDIAG_GETSOCK ? read_diag_message(message.body) : std::nullopt;
    if (!socket) {
      ++missed.unreadable;
    } else if (into.size() >= asked.sockets_max) {
      ++missed.left_out;
    } else {
      into.push_back(*socket);
    }
  };
  const std::size_t first = into.size();
  for (int attempt = 1;; ++attempt) {
    const auto done = diag.dump(TCPDIAG_GETSOCK, std::as_bytes(std::span(&request, 1)), take);
    if (done) return {};
    if (!done.error().interrupted || attempt == attempts_max) return std::unexpected(done.error().error);
    into.resize(first);
  }
}

// An IPv6 socket with mapped IPv4 ends must be requested by IPv4: the kernel's connection table has it under them
// (inet_diag_find_one_icsk).
inet_diag_req_v2 diag_request(const Socket& socket) {
  inet_diag_req_v2 request{.sdiag_family = static_cast<std::uint8_t>(socket.local.family()),
                           .sdiag_protocol = IPPROTO_TCP,
                           .idiag_ext = extensions,
                           .idiag_states = all_states};
  write_end(socket.local, request.id.idiag_src, request.id.idiag_sport);
  write_end(socket.peer, request.id.idiag_dst, request.id.idiag_dport);
  request.id.idiag_if = socket.interface;
  request.id.idiag_cookie[0] = static_cast<std::uint32_t>(socket.cookie);
  request.id.idiag_cookie[1] = static_cast<std::uint32_t>(socket.cookie >> 32);
  return request;
}

std::expected<Socket, int> find_socket(NetlinkSocket& diag, const Socket& known) {
  const inet_diag_req_v2 request = diag_request(known);
  std::optional<Socket> found;
  const auto take = [&found](const Message& message) {
    if (message.type == SOCK_DIAG_BY_FAMILY) found = read_diag_message(message.body);
  };
  const auto asked = diag.ask(SOCK_DIAG_BY_FAMILY, std::as_bytes(std::span(&request, 1)), take);
  if (!asked) return std::unexpected(asked.error());
  if (!found || found->cookie != known.cookie) return std::unexpected(ENOENT);
  found->space = known.space;
  return *found;
}

}  // namespace ebb::census
