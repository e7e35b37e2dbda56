// Facts that need several samples: how long a socket has existed, and which programs only open more connections.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "census/sample.h"

namespace ebb::census {

struct Age {
  std::int64_t ms = 0;
  bool exact = false;  // else a lower bound
};

class History {
 public:
  static constexpr std::size_t samples_max = 64;
  static constexpr std::size_t samples_min = 4;  // needed before growth is reported
  static constexpr std::uint32_t growth_min = 3;

  void add(const Sample& sample);
  // For a socket of the latest sample.
  bool only_grows(const Sample& sample, const Socket& socket) const;
  std::optional<Age> age(const Socket& socket) const;

 private:
  // One program with one service at one host.
  struct Group {
    std::uint32_t pid = 0;
    base::Address service;  // the remote host, with the service's port: remote or local
    friend bool operator==(const Group&, const Group&) = default;
  };
  struct Hash {
    std::size_t operator()(const Group& group) const { return group.service.hash() * 31 + group.pid; }
  };
  Group group_of(const Sample& sample, const Socket& socket) const;
  static bool grows(const std::deque<std::uint32_t>& counts);

  std::unordered_map<Group, std::deque<std::uint32_t>, Hash> counts_;  // one count per sample
  std::unordered_map<std::uint64_t, base::WallTime> first_seen_;       // by cookie
  std::vector<std::uint64_t> served_;                                  // namespace and port that is listened on; sorted
  std::size_t samples_ = 0;
  base::WallTime last_{};
};

}  // namespace ebb::census
