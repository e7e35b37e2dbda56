#include "app/ctl_command.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <iostream>

#include "app/cli.h"
#include "app/completion.h"
#include "reactor/descriptor.h"

namespace ebb::app {
namespace {

constexpr const char* default_socket = "run/ebbgate.sock";

std::string socket_path(const CtlArguments& arguments) {
  if (!arguments.socket.empty()) return arguments.socket;
  const char* const named = std::getenv("EBBGATE_SOCKET");
  return named == nullptr ? default_socket : named;
}

std::expected<reactor::Descriptor, std::string> dial(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return std::unexpected(path + ": the path is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  reactor::Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return descriptor;
  const bool nobody = errno == ENOENT || errno == ECONNREFUSED;
  return std::unexpected(path + ": " + std::strerror(errno) +
                         (nobody ? "; does a router run with `runtime: " + path + "`? -s gives another path" : ""));
}

// One line, its reply to standard output.
int run_line(const std::string& path, const std::string& line) {
  const auto connection = dial(path);
  if (!connection) {
    fmt::print(stderr, "ebbgate ctl: {}\n", connection.error());
    return exit_failed;
  }
  const std::string bytes = line + "\n";
  if (::send(connection->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    fmt::print(stderr, "ebbgate ctl: {}: {}\n", path, std::strerror(errno));
    return exit_failed;
  }
  ::shutdown(connection->get(), SHUT_WR);
  char piece[16384];
  for (;;) {
    const ssize_t got = ::recv(connection->get(), piece, sizeof(piece), 0);
    if (got == 0) return exit_ok;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return exit_failed;
    std::fwrite(piece, 1, static_cast<std::size_t>(got), stdout);
  }
}

}  // namespace

int control(const CtlArguments& arguments) {
  if (!arguments.completion.empty()) {
    fmt::print("{}", completion_script(arguments.completion));
    return exit_ok;
  }
  const std::string path = socket_path(arguments);
  if (!arguments.command.empty()) return run_line(path, fmt::format("{}", fmt::join(arguments.command, " ")));
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  std::string line;
  for (;;) {
    if (terminal) fmt::print("> ");
    std::fflush(stdout);
    if (!std::getline(std::cin, line) || line == "quit") return exit_ok;
    if (line.empty()) continue;
    if (const int status = run_line(path, line); status != exit_ok) return status;
  }
}

}  // namespace ebb::app
