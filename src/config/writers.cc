#include "config/writers.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace ebb::config {

namespace {

constexpr std::uint32_t cifs_magic = 0xFF534D42;
constexpr std::uint32_t smb2_magic = 0xFE534D42;

// On such file systems, EAGAIN means that the server granted no delegation; it does not tell about writers.
bool leases_are_remote(int descriptor) {
  struct statfs system = {};
  if (::fstatfs(descriptor, &system) != 0) return true;
  const auto type = static_cast<std::uint32_t>(system.f_type);
  return type == NFS_SUPER_MAGIC || type == cifs_magic || type == smb2_magic;
}

// The kernel grants a read lease only while no process has the file open for writing (fcntl(2), F_SETLEASE).
Writers ask_by_lease(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return Writers::none;
  if (leases_are_remote(descriptor)) return Writers::unknown;
  // A writer that opens the file while the lease exists makes the kernel send a signal. SIGIO, the default, would kill
  // this process; SIGURG is ignored by default.
  if (::fcntl(descriptor, F_SETSIG, SIGURG) != 0) return Writers::unknown;
  if (::fcntl(descriptor, F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(descriptor, F_SETLEASE, F_UNLCK);
    return Writers::none;
  }
  return errno == EAGAIN ? Writers::some : Writers::unknown;
}

}  // namespace

Writers writers_of(const std::string& path) {
  // Without O_NONBLOCK, open() of a FIFO would wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return Writers::none;
  const Writers answer = ask_by_lease(descriptor);
  ::close(descriptor);
  return answer;
}

}  // namespace ebb::config
