#include "serve/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace ebb::serve {
namespace {

constexpr int queue_length = 128;

bool fill(sockaddr_un& address, const std::string& path) {
  if (path.size() >= sizeof(address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

reactor::Descriptor make_socket() {
  return reactor::Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

// A full queue (EAGAIN) also means that a process listens.
bool somebody_answers(const sockaddr_un& address) {
  const reactor::Descriptor probe = make_socket();
  const auto* const raw = reinterpret_cast<const sockaddr*>(&address);
  return ::connect(probe.get(), raw, sizeof(address)) == 0 || errno == EAGAIN;
}

}  // namespace

reactor::Descriptor open_unix_listener(const std::string& path, std::string& error) {
  const auto refuse = [&](const std::string& why) {
    error = path + ": " + why;
    return reactor::Descriptor();
  };
  sockaddr_un address{};
  sockaddr_un beside{};
  const std::string temporary = path + "." + std::to_string(::getpid());
  if (!fill(address, path) || !fill(beside, temporary)) {
    return refuse("the path is too long for a unix socket (about 95 bytes); give a shorter one");
  }
  struct stat facts{};
  if (::lstat(path.c_str(), &facts) == 0 && !S_ISSOCK(facts.st_mode)) {
    return refuse("the path exists and is not a socket; remove it, or give another path");
  }
  if (somebody_answers(address)) return refuse("another process listens there; stop it, or give another path");
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);

  reactor::Descriptor listening = make_socket();
  ::unlink(temporary.c_str());
  // The file inherits the descriptor's mode: without fchmod other users could open it for a moment.
  if (!listening || ::fchmod(listening.get(), 0600) != 0 ||
      ::bind(listening.get(), reinterpret_cast<const sockaddr*>(&beside), sizeof(beside)) != 0 ||
      ::chmod(temporary.c_str(), 0600) != 0 || ::listen(listening.get(), queue_length) != 0 ||
      ::rename(temporary.c_str(), path.c_str()) != 0) {
    const int sys = errno;
    ::unlink(temporary.c_str());
    return refuse(std::strerror(sys));
  }
  return listening;
}

}  // namespace ebb::serve
