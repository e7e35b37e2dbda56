// The first inhabitant of the world: a relay that pairs each client connection with one to the first endpoint of the
// snapshot and moves bytes both ways, with back-pressure. Its faults, one at a time, are what the checkers must catch.
#pragma once

#include <memory>

#include "sim/inhabitant.h"

namespace ebb::sim {

enum class Fault : std::uint8_t {
  none,
  drops_a_byte,
  doubles_a_byte,
  closes_twice,
  leaks_a_socket,
  leaks_a_block,
  forgets_to_adopt,
  ends_a_cut_answer_cleanly,
  sends_after_finish,
  executes_twice,
  mixes_up_clients,
  never_answers,
  pumps_while_receiving,
  keeps_a_timer,
};

MakeInhabitant make_relay(Fault fault);

}  // namespace ebb::sim
