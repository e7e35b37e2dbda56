#include "app/ctl_command.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <expected>
#include <iostream>
#include <utility>

#include "admin/command_line.h"
#include "app/cli.h"
#include "app/completion.h"
#include "observe/text_escape.h"
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

// Prints the reply, line by line, for a terminal or a script. Messages begin with the requested severity ("[3]: No such
// server."): the printer removes it and remembers errors.
class ReplyPrinter {
 public:
  void take(std::string_view bytes) {
    for (const char byte : bytes) {
      lines_ += byte == '\n' ? 1 : 0;
      line_ += byte;
      if (byte == '\n' || line_.size() >= line_bytes_max) print();
    }
  }
  // The end of the replies: false if lines are missing (each reply ends with a line feed) or the last is incomplete.
  bool finish(std::size_t replies) {
    const bool whole = line_.empty() || line_ == prompt;
    if (!line_.empty()) print();
    return whole && lines_ >= replies;
  }
  bool refused() const { return refused_; }

 private:
  static constexpr std::size_t line_bytes_max = std::size_t{1} << 20;
  static constexpr std::string_view prompt = "> ";
  static constexpr int error_severity = 3;  // or lower: syslog's numbers

  void print() {
    std::string_view line = line_;
    // The reply to the command that requests severities is an empty line.
    const bool is_ours = std::exchange(first_, false) && line == "\n";
    if (begins_reply_ && line.size() > 4 && line[0] == '[' && line[1] >= '0' && line[1] <= '7' &&
        line.substr(2, 3) == "]: ") {
      refused_ = refused_ || line[1] - '0' <= error_severity;
      line.remove_prefix(5);
    }
    begins_reply_ = line == "\n";
    if (!is_ours) {
      const std::string shown = observe::visible_lines(line);
      std::fwrite(shown.data(), 1, shown.size(), stdout);
    }
    line_.clear();
  }

  std::string line_;
  std::size_t lines_ = 0;
  bool first_ = true;
  bool begins_reply_ = true;
  bool refused_ = false;
};

// How many commands of the line get a reply: those before `quit`.
std::size_t commands_in(std::string_view line) {
  const auto commands = admin::split_commands(line);
  return static_cast<std::size_t>(std::ranges::find(commands, "quit") - commands.begin());
}

enum class Told : std::uint8_t { done, refused, unreachable };

// Sends one line and prints its reply to standard output.
Told run_line(const std::string& path, const std::string& line) {
  const auto connection = dial(path);
  if (!connection) {
    fmt::print(stderr, "ebbgate ctl: {}\n", observe::visible(connection.error()));
    return Told::unreachable;
  }
  const std::string bytes = "set severity-output number;" + line + "\n";
  if (::send(connection->get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(bytes.size())) {
    fmt::print(stderr, "ebbgate ctl: {}: {}\n", path, std::strerror(errno));
    return Told::unreachable;
  }
  ::shutdown(connection->get(), SHUT_WR);
  char piece[16384];
  ReplyPrinter printer;
  for (;;) {
    const ssize_t got = ::recv(connection->get(), piece, sizeof(piece), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got > 0) {
      printer.take({piece, static_cast<std::size_t>(got)});
      continue;
    }
    const int sys = got < 0 ? errno : 0;
    const bool whole = printer.finish(1 + commands_in(line));
    if (sys != 0 || !whole) {
      fmt::print(
          stderr, "ebbgate ctl: {}: {}\n", path,
          sys != 0 ? std::strerror(sys) : "the router closed the connection before it had replied to everything");
      return Told::unreachable;
    }
    return printer.refused() ? Told::refused : Told::done;
  }
}

}  // namespace

int control(const CtlArguments& arguments) {
  if (!arguments.completion.empty()) {
    fmt::print("{}", completion_script(arguments.completion));
    return exit_ok;
  }
  const std::string path = socket_path(arguments);
  if (!arguments.command.empty()) {
    const Told told = run_line(path, fmt::format("{}", fmt::join(arguments.command, " ")));
    return told == Told::done ? exit_ok : exit_failed;
  }
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  int status = exit_ok;  // a refused line does not stop the next
  std::string line;
  for (;;) {
    if (terminal) fmt::print("> ");
    std::fflush(stdout);
    if (!std::getline(std::cin, line) || line == "quit") return status;
    if (line.empty()) continue;
    const Told told = run_line(path, line);
    if (told != Told::done) status = exit_failed;
    if (told == Told::unreachable) return status;
  }
}

}  // namespace ebb::app
