// `ebbgate check`: checks a configuration without serving it.
#pragma once

#include <string>

#include "config/diagnostic.h"

namespace ebb::app {

struct CheckReport {
  std::string file;
  std::size_t listeners = 0;
  std::size_t routes = 0;
  std::size_t backends = 0;
  std::size_t endpoints = 0;
  config::Diagnostics errors;

  bool ok() const { return errors.empty(); }
  // "gate.yaml: ok (3 listeners, 5 routes, 2 backends, 7 endpoints)", or the errors, one per line.
  std::string text() const;
  // The same as one JSON object.
  std::string json() const;
};

// Reads the file and, if it is valid, the certificates that it names.
CheckReport check(const std::string& config_path);

}  // namespace ebb::app
