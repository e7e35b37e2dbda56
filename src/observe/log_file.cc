#include "observe/log_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

namespace ebb::observe {
namespace {

// fifo(7): a non-blocking open for writing fails with ENXIO while no process has the FIFO open for reading. A socket
// fails the same way, and can never be opened.
bool lacks_reader(const std::string& path, int error) {
  struct stat facts{};
  return error == ENXIO && ::stat(path.c_str(), &facts) == 0 && S_ISFIFO(facts.st_mode);
}

}  // namespace

LogFile::~LogFile() { close(); }

void LogFile::close() {
  if (fd_ > STDERR_FILENO) ::close(fd_);
  fd_ = -1;
}

LogFile::Opening LogFile::open(const std::string& path, std::string& error) {
  const bool standard_output = path.empty() || path == "-";
  // O_NONBLOCK: otherwise open() of a named pipe would wait for a reader that may never come.
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  const int fd = standard_output ? STDOUT_FILENO : ::open(path.c_str(), flags, 0640);
  struct stat facts{};
  if (fd < 0 || fstat(fd, &facts) != 0) {
    const int problem = errno;
    error = path + ": " + std::generic_category().message(problem);
    if (fd > STDERR_FILENO) ::close(fd);
    return lacks_reader(path, problem) ? Opening::lacks_reader : Opening::failed;
  }
  close();
  fd_ = fd;
  may_block_ = !S_ISREG(facts.st_mode);
  torn_ = false;
  return Opening::done;
}

bool LogFile::wait_until_writable(const Patience& patience) {
  pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
  int wait_ms = 0;
  for (;;) {
    const int ready = poll(&writable, 1, wait_ms);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
    if (ready == 0 && !patience()) return false;
    wait_ms = poll_ms;
  }
}

std::size_t LogFile::write(std::string_view lines, const Patience& patience) {
  if (fd_ < 0) return 0;
  if (torn_ && write_some("\n", patience) == 0) return 0;
  torn_ = false;
  std::size_t done = 0;
  while (done < lines.size()) {
    const std::size_t taken = write_some(lines.substr(done), patience);
    if (taken == 0) break;
    done += taken;
  }
  torn_ = done > 0 && lines[done - 1] != '\n';
  return done;
}

std::size_t LogFile::write_some(std::string_view bytes, const Patience& patience) {
  for (;;) {
    // pipe(7): a pipe that polls writable takes PIPE_BUF bytes without blocking. O_NONBLOCK is no alternative for
    // standard output: it would affect all processes that share it.
    if (may_block_ && !wait_until_writable(patience)) return 0;
    const std::size_t size = may_block_ ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t taken = ::write(fd_, bytes.data(), size);
    if (taken >= 0) return static_cast<std::size_t>(taken);
    if (errno != EINTR && errno != EAGAIN) return 0;
  }
}

}  // namespace ebb::observe
