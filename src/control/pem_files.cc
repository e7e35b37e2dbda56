#include "control/pem_files.h"

#include "config/file.h"

namespace ebb::control {

namespace {

// Debian's authorities have 220 KiB; a revocation list may have more.
constexpr std::size_t file_bytes_max = std::size_t{8} << 20;

struct Fault {
  std::string what;
  const char* remedy;
};

// Half a file could lack the very block that matters, and an empty file looks like none: both would silently weaken a
// check.
std::expected<std::string, Fault> read_whole(const std::string& path) {
  auto content = config::read_file(path, file_bytes_max + 1);
  if (!content) {
    return std::unexpected(
        Fault{content.error(), "put the file there and let this process read it, or correct the path"});
  }
  if (content->empty()) return std::unexpected(Fault{"is empty", "fill the file, or remove the key that names it"});
  if (content->size() <= file_bytes_max) return std::move(*content);
  return std::unexpected(Fault{"is larger than 8 MiB", "leave out what is not needed"});
}

}  // namespace

std::string PemFiles::read(const std::string& path, const char* kind) {
  if (path.empty()) return {};
  auto content = read_whole(path);
  if (content) return std::move(*content);
  const auto& [what, remedy] = content.error();
  problems_.push_back({path, 0, 0, "", "the " + std::string(kind) + " of " + owner_ + " " + what, remedy});
  return {};
}

}  // namespace ebb::control
