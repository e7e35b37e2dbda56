// A complete statement about services and their endpoints at one time: from a file, the command line, later the
// Kubernetes API. Endpoints (endpoints.h) takes one after the other and derives the changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/clock.h"
#include "census/census.h"
#include "reap/policy.h"

namespace ebb::reap {

enum class Presence : std::uint8_t {
  ready,
  leaving,  // gets no new connections; existing ones may end by themselves within its grace
  gone,
};

struct Endpoint {
  base::Address address;
  Presence state = Presence::ready;
  std::optional<base::Duration> grace;  // empty: the service's
  std::string node;                     // where it runs; "": unknown
};

struct Service {
  std::string name;
  std::vector<base::Address> addresses;  // what clients connect to; empty if they connect to the endpoints
  base::Duration grace = std::chrono::seconds{30};
  std::vector<Endpoint> endpoints;
};

// Labels of a pod, found by the place of its sockets. Patterns, as in the policy.
struct Place {
  std::vector<std::string> netns;
  std::vector<std::string> cgroup;
  std::vector<Label> labels;
};

struct Truth {
  std::vector<Service> services;
  std::vector<Place> places;
  std::vector<census::GonePeers> gone;  // overrides everything else; one per source
};

}  // namespace ebb::reap
