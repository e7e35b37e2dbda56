// The gate with one flaw of its own or of its books, for the checkers that a relay has nothing to show to.
#pragma once

#include <cstdint>

#include "sim/inhabitant.h"

namespace ebb::sim {

enum class Flaw : std::uint8_t {
  none,
  hears_of_no_change,
  says_drained_at_once,
  never_says_drained,
  passes_its_cookie_on,   // when it was reconfigured
  forgets_who_was_bound,  // the same
  hoards_idle_connections,
  indulges_leaky_clients,
  uses_what_it_calls_dead,
  tries_once,
  gives_up_soon,
  refuses_without_a_cause,
  closes_without_a_cause,
  blames_itself,
  leaves_one_waiting,
  keeps_an_endpoint,
  doubts_alone,  // and tells no other worker
  takes_slow_for_dead,
  cuts_quiet_streams,
  cuts_by_silence,
};

MakeInhabitant make_broken_gate(Flaw flaw);

}  // namespace ebb::sim
