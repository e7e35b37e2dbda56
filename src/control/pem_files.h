// Files of keys and certificates that one part of the configuration names; what cannot be read is gathered.
#pragma once

#include <string>

#include "config/diagnostic.h"

namespace ebb::control {

class PemFiles {
 public:
  explicit PemFiles(std::string owner) : owner_(std::move(owner)) {}

  // "" if there is no path, or if it cannot be read whole or is empty: then there is a problem.
  std::string read(const std::string& path, const char* kind);
  const config::Diagnostics& problems() const { return problems_; }

 private:
  std::string owner_;  // "listener \"web\""
  config::Diagnostics problems_;
};

}  // namespace ebb::control
