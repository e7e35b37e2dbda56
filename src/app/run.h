// `ebbgate run`: serves until it is stopped.
#pragma once

#include <string>

namespace ebb::app {

struct RunOptions {
  std::string config_path;
};

// The exit status: 0 after an orderly stop, 1 if it could not start.
int run(const RunOptions& options);

}  // namespace ebb::app
