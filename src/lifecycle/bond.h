// Does a client stay with the endpoint that its cookie names?
//
//   holds    it stays, also if the endpoint has no room for it yet
//   yields   it moves as soon as there is a better one
//   broken   it moves
#pragma once

#include "lifecycle/endpoint.h"

namespace ebb::lifecycle {

enum class Bond : std::uint8_t { holds, yields, broken };

struct BondTerms {
  bool kept_while_draining = false;
  bool drain_overdue = false;  // it drains, and its deadline is near
};

constexpr Bond bond(const EndpointFactsOfLife& facts, const BondTerms& terms) {
  if (facts.membership == Membership::gone || facts.wish == Wish::maint || terms.drain_overdue) return Bond::broken;
  switch (facts.health) {
    case Health::up:
    case Health::warming: break;
    case Health::suspect: return Bond::yields;
    case Health::down: return Bond::broken;
  }
  return draining(facts.membership, facts.wish) && !terms.kept_while_draining ? Bond::yields : Bond::holds;
}

// What a client may move to from an endpoint whose bond yields: whatever stands better than this. One that drains
// serves its own clients as well as one that leaves serves everybody, whatever it is to others.
constexpr Standing standing_for_bound(const EndpointFactsOfLife& facts) {
  return facts.health == Health::suspect ? Standing::doubtful : Standing::leaving;
}

}  // namespace ebb::lifecycle
