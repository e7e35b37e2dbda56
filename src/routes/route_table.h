// The look-up tables behind Snapshot::match: one index for hosts and one for all (host, path) pairs. A pair leads to a
// route, or to a short list of routes that differ only in their conditions, in the order of trying.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "routes/conditions.h"
#include "routes/regex.h"
#include "routes/request_facts.h"
#include "routes/route_model.h"
#include "routes/text_index.h"

namespace ebb::routes {

class RouteTable {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The routes are valid and stay in place as long as this table.
  void build(std::span<const RouteModel> routes);

  // Indices of routes, or none.
  std::uint32_t match(const RequestFacts& request) const;
  std::uint32_t match_server_name(std::string_view name, std::string_view listener) const;
  // Whether each path of that host, in every reading, has a route, and none but `chosen` guards.
  bool all_paths_open(std::string_view authority, std::uint32_t chosen) const;
  bool has_server_names() const { return !server_names_.empty(); }

 private:
  struct Candidate {
    std::uint32_t route;
    const Conditions* conditions;  // null: none
    const Regex* path;             // for a route with an expression
  };
  // Of candidates_.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  // The only route of a path if it has no conditions, else its candidates.
  struct Target {
    std::uint32_t route = none;
    Range candidates;
  };
  struct Host {
    std::uint32_t longest_exact = 0;
    std::uint32_t longest_prefix = 0;
    Range regexes;
    std::uint32_t guard = none;  // the host's route that guards
    bool has_more_guards = false;
    bool serves_all = false;  // a route for every path, without conditions: no other host is tried
  };
  // A route while the table is built: sorted by host and path, then by precedence.
  struct Draft {
    std::uint32_t host;
    PathKind kind;
    std::string_view path;  // "" for an expression: all of a host form one list
    Conditions::Rank rank;
    std::uint32_t route;
  };

  static std::uint32_t scope_of(std::uint32_t host, PathKind kind) {
    return host * 4 + static_cast<std::uint32_t>(kind);
  }
  std::string host_key(const RouteModel& route);
  void add_terminated(const RouteModel& route);
  bool terminated(std::string_view host_key, const std::uint32_t* listener) const;
  Draft draft_of(const RouteModel& route, std::uint32_t index);
  void add_path(std::span<const RouteModel> routes, std::span<const Draft> drafts);

  std::uint32_t match_path(std::uint32_t host, std::string_view path, const RequestFacts& request) const;
  std::uint32_t look_up(std::uint32_t scope, std::string_view path, const RequestFacts& request) const;
  std::uint32_t first_that_holds(Range range, std::string_view path, const RequestFacts& request) const;

  // Keys: "shop.example.com", ".example.com" for "*.example.com", "" for every host.
  TextIndex<std::uint32_t> host_numbers_;
  TextIndex<std::uint32_t> server_names_;  // routes with TLS passthrough
  // Hosts of the other routes, which compete with server_names_; empty without passthrough routes. The scope is the
  // number of the route's listener, or `any_listener`.
  static constexpr std::uint32_t any_listener = 0;
  TextIndex<bool> terminated_;
  TextIndex<std::uint32_t> listener_numbers_;  // of listeners that some route is limited to; from 1
  std::uint32_t listener_count_ = 0;
  std::size_t longest_wildcard_ = 0;  // including its dot
  std::vector<Host> hosts_;
  TextIndex<Target> paths_;  // by scope_of and path; without expressions
  std::vector<Candidate> candidates_;
  std::deque<Conditions> conditions_;  // candidates point into it
  Regexes regexes_;
};

}  // namespace ebb::routes
