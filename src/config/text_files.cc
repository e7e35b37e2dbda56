#include "config/text_files.h"

#include "config/file.h"

namespace ebb::config {

namespace {

// For a short page; it stays in memory as long as the configuration.
constexpr std::size_t text_file_bytes_max = 64 << 10;

}  // namespace

std::expected<std::shared_ptr<const std::string>, std::string> TextFiles::get(const std::string& path) {
  if (const auto found = by_path_.find(path); found != by_path_.end()) return found->second;
  auto content = read_file(path, text_file_bytes_max + 1);
  if (!content) return std::unexpected(std::move(content.error()));
  if (content->size() > text_file_bytes_max) return std::unexpected(std::string("is larger than 64 KiB"));
  return by_path_.emplace(path, std::make_shared<const std::string>(std::move(*content))).first->second;
}

}  // namespace ebb::config
