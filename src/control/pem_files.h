// Reads files of keys and certificates for one part of the configuration; collects the errors.
#pragma once

#include <string>

#include "config/diagnostic.h"

namespace ebb::control {

class PemFiles {
 public:
  explicit PemFiles(std::string owner) : owner_(std::move(owner)) {}

  // "" without a path. Also "" with a problem, if the file is empty or cannot be read whole.
  std::string read(const std::string& path, const char* kind);
  const config::Diagnostics& problems() const { return problems_; }

 private:
  std::string owner_;  // "listener \"web\""
  config::Diagnostics problems_;
};

}  // namespace ebb::control
