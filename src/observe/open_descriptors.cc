#include "observe/open_descriptors.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>

namespace ebb::observe {

namespace {

// Size of the kernel's descriptor table: every descriptor is below it (proc(5), FDSize).
int descriptor_slots() {
  constexpr std::string_view wanted = "FDSize:\t";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(wanted)) continue;
    int slots = 0;
    std::from_chars(line.data() + wanted.size(), line.data() + line.size(), slots);
    return slots;
  }
  return 0;
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

base::Address address_of(int socket, NameOf ask) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (ask(socket, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return base::Address::from(reinterpret_cast<sockaddr*>(&storage));
}

std::string_view tcp_state_of(int socket) {
  // In the order of include/net/tcp_states.h.
  static constexpr std::string_view names[] = {"",           "established", "syn_sent",  "syn_recv",
                                               "fin_wait1",  "fin_wait2",   "time_wait", "close",
                                               "close_wait", "last_ack",    "listen",    "closing"};
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return "";
  return info.tcpi_state < std::size(names) ? names[info.tcpi_state] : "";
}

}  // namespace

// Asks for each number. A walk through /proc/self/fd makes the kernel build a directory entry for each descriptor,
// which costs several times as much.
OpenDescriptors open_descriptors() {
  OpenDescriptors open;
  const int slots = descriptor_slots();
  open.reserve(static_cast<std::size_t>(slots));
  for (int number = 0; number < slots; ++number) {
    struct stat facts{};
    if (::fstat(number, &facts) != 0) continue;
    open.push_back({number, facts.st_ino, S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode)});
  }
  return open;
}

DescriptorFacts describe_descriptor(int number) {
  std::error_code error;
  return {.object = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(number), error).string(),
          .local = address_of(number, ::getsockname),
          .remote = address_of(number, ::getpeername),
          .tcp_state = tcp_state_of(number)};
}

}  // namespace ebb::observe
