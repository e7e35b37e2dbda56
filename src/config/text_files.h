// Short texts that the configuration names: each file is read once and shared, however many routes name it.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <unordered_map>

namespace ebb::config {

class TextFiles {
 public:
  // The content, or why there is none: "cannot be read: ...".
  std::expected<std::shared_ptr<const std::string>, std::string> get(const std::string& path);

 private:
  std::unordered_map<std::string, std::shared_ptr<const std::string>> by_path_;
};

}  // namespace ebb::config
