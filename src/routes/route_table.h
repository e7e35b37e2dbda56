// The look-up tables behind Snapshot::match. One hash table for hosts and one for all (host, path) pairs, whose keys
// are views into the models: a route costs about a hundred bytes here. Behind a pair stands the short list of routes
// that differ only by their conditions, in the order in which they are tried.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "routes/conditions.h"
#include "routes/regex.h"
#include "routes/request_facts.h"
#include "routes/route_model.h"

namespace ebb::routes {

class RouteTable {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The routes are valid, and stay where they are as long as this table.
  void build(std::span<const RouteModel> routes);

  // Indices of routes, or none.
  std::uint32_t match(const RequestFacts& request) const;
  std::uint32_t match_server_name(std::string_view name) const;

 private:
  // Of candidates_.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  struct Candidate {
    std::uint32_t route;
    const Conditions* conditions;  // null: none
    const Regex* path;             // of a route with an expression
  };
  struct Host {
    std::uint32_t number = 0;
    std::uint32_t longest_exact = 0;
    std::uint32_t longest_prefix = 0;
    Range regexes;
  };
  struct PathKey {
    std::uint32_t host;
    PathKind kind;
    std::string_view path;  // "" for an expression: all of a host are one list
    friend bool operator==(const PathKey&, const PathKey&) = default;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct PathHash {
    std::size_t operator()(const PathKey& key) const {
      const std::size_t place = key.host * std::size_t{4} + static_cast<std::size_t>(key.kind);
      return std::hash<std::string_view>{}(key.path) ^ (place * 0x9e3779b97f4a7c15u);
    }
  };
  // "shop.example.com", ".example.com" for "*.example.com", "" for every host.
  template <class Entry>
  using HostMap = std::unordered_map<std::string, Entry, TextHash, std::equal_to<>>;

  // A candidate on its way to its place: sorted by key, then by precedence.
  struct Draft;
  Draft draft_of(const RouteModel& route, std::uint32_t index);
  void add_candidates(std::span<const RouteModel> routes, std::span<const Draft> drafts);
  std::string host_key(const RouteModel& route);

  std::uint32_t match_path(const Host& host, std::string_view path, const RequestFacts& request) const;
  std::uint32_t first_that_holds(Range range, std::string_view path, const RequestFacts& request) const;
  std::uint32_t look_up(const PathKey& key, const RequestFacts& request) const;

  HostMap<Host> hosts_;
  HostMap<std::uint32_t> server_names_;  // of passthrough routes
  std::size_t longest_wildcard_ = 0;     // with its dot
  std::unordered_map<PathKey, Range, PathHash> paths_;
  std::vector<Candidate> candidates_;
  std::deque<Conditions> conditions_;  // candidates point into it
  Regexes regexes_;
};

}  // namespace ebb::routes
