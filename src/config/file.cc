#include "config/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ebb::config {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};

std::unexpected<std::string> system_error() {
  return std::unexpected("cannot be read: " + std::string(std::strerror(errno)));
}

}  // namespace

std::expected<std::string, std::string> read_file(const std::string& path, std::size_t bytes_max) {
  // Without O_NONBLOCK, open() of a FIFO would wait for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.number() < 0) return system_error();
  struct stat status = {};
  if (::fstat(file.number(), &status) != 0) return system_error();
  if (!S_ISREG(status.st_mode)) return std::unexpected(std::string("is not a regular file"));

  std::string content;
  char piece[65536];
  while (content.size() < bytes_max) {
    const ssize_t count = ::read(file.number(), piece, std::min(sizeof(piece), bytes_max - content.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error();
    if (count == 0) break;
    content.append(piece, static_cast<std::size_t>(count));
  }
  return content;
}

}  // namespace ebb::config
