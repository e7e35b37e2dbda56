// A state machine is one X-list of states, one of events, one table of rows. The table is checked when the program is
// compiled: a state without a way to end, or without a deadline, does not build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ebb::lifecycle {

template <class State, class Event>
struct Row {
  State from;
  Event on;
  State to;
};

// `Definition` has: State, Event (enums that count from 0), state_names, event_names, rows, first, last (terminal).
template <class Definition>
class Machine {
 public:
  using State = typename Definition::State;
  using Event = typename Definition::Event;
  static constexpr std::size_t states = std::size(Definition::state_names);
  static constexpr std::size_t events = std::size(Definition::event_names);

  constexpr Machine() = default;
  constexpr explicit Machine(State state) : state_(state) {}

  constexpr State state() const { return state_; }
  constexpr bool is(State state) const { return state_ == state; }
  constexpr bool ended() const { return state_ == Definition::last; }
  constexpr std::string_view name() const { return Definition::state_names[static_cast<std::size_t>(state_)]; }

  // False: the table has no such row and the state is as before. The caller ends this one connection or exchange with
  // Cause::internal and counts it; nobody else is harmed.
  [[nodiscard]] constexpr bool step(Event event) {
    const std::uint8_t next = next_state(state_, event);
    if (next == none) return false;
    state_ = static_cast<State>(next);
    return true;
  }

  static constexpr bool has(State from, Event on) { return next_state(from, on) != none; }
  static constexpr State target(State from, Event on) { return static_cast<State>(next_state(from, on)); }

  static constexpr bool deterministic() {
    std::array<std::array<int, events>, states> seen{};
    for (const auto& row : Definition::rows) {
      if (++seen[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.on)] > 1) return false;
    }
    return true;
  }
  static constexpr bool last_is_terminal() {
    for (const auto& row : Definition::rows) {
      if (row.from == Definition::last) return false;
    }
    return true;
  }
  static constexpr bool every_live_state_has(Event event) {
    for (std::size_t state = 0; state < states; ++state) {
      if (static_cast<State>(state) != Definition::last && !has(static_cast<State>(state), event)) return false;
    }
    return true;
  }
  static constexpr bool all_reach_last() {
    std::array<bool, states> reaches{};
    reaches[static_cast<std::size_t>(Definition::last)] = true;
    for (std::size_t round = 0; round < states; ++round) {
      for (const auto& row : Definition::rows) {
        if (reaches[static_cast<std::size_t>(row.to)]) reaches[static_cast<std::size_t>(row.from)] = true;
      }
    }
    for (const bool reached : reaches) {
      if (!reached) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint8_t none = 0xff;
  using Table = std::array<std::array<std::uint8_t, events>, states>;

  static constexpr Table make_table() {
    Table lines{};
    for (auto& line : lines) line.fill(none);
    for (const auto& row : Definition::rows) {
      lines[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.on)] = static_cast<std::uint8_t>(row.to);
    }
    return lines;
  }
  static constexpr Table table = make_table();
  static constexpr std::uint8_t next_state(State from, Event on) {
    return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(on)];
  }

  State state_ = Definition::first;
};

}  // namespace ebb::lifecycle

#define EBB_ENUMERATOR(name) name,
#define EBB_ENUMERATOR_NAME(name) #name,
