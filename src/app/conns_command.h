// `ebbgate conns`: every TCP socket of a machine with its owner, timer and verdict, and when the kernel will give it
// up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ebb::app {

struct ConnsArguments {
  std::string netns;      // name of /run/netns, or a path
  std::uint32_t pid = 0;  // of this process's network namespace
  bool all = false;       // every network namespace
  std::vector<std::string> filters;
  std::string by;    // "process", "peer", "verdict"
  std::string sort;  // as in census::sort_names
  std::string why;
  std::string gone;
  std::string record;
  std::string replay;
  std::string limit = "5m";
  std::string quiet = "10s";
  std::string orphan = "60s";
  std::string every = "2s";
  std::uint32_t samples = 1;
  bool json = false;
  bool watch = false;
};

int take_census(const ConnsArguments& arguments);

}  // namespace ebb::app
