// Short texts that the configuration names. Each file is read once and shared by all routes that name it.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <unordered_map>

namespace ebb::config {

class TextFiles {
 public:
  // The content, or the reason why it is missing: "cannot be read: ...".
  std::expected<std::shared_ptr<const std::string>, std::string> get(const std::string& path);

 private:
  std::unordered_map<std::string, std::shared_ptr<const std::string>> by_path_;
};

}  // namespace ebb::config
