#include "app/pem_files.h"

#include "config/file.h"

namespace ebb::app {

namespace {

// The authorities of Debian have 220 KiB; a revocation list may have more.
constexpr std::size_t file_bytes_max = std::size_t{8} << 20;

}  // namespace

std::string PemFiles::read(const std::string& path, const char* kind) {
  if (path.empty()) return {};
  auto content = config::read_file(path, file_bytes_max);
  if (content) return std::move(*content);
  problems_.push_back({path, 0, 0, "", "the " + std::string(kind) + " of " + owner_ + " " + content.error(),
                       "put the file there and let this process read it, or correct the path"});
  return {};
}

}  // namespace ebb::app
