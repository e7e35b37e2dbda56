// A state machine is one X-list of states, one of events, one table of rows. The table is checked when the program is
// compiled: a state without a way to end, or without a deadline, does not build.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "lifecycle/coverage.h"

namespace ebb::lifecycle {

// What the owner of a machine has to do for a step, in the order of the enumerators. The machine itself does nothing.
template <class Action>
class ActionSet {
 public:
  constexpr ActionSet() = default;
  constexpr ActionSet(std::initializer_list<Action> all) {
    for (const Action action : all) bits_ |= bit(action);
  }
  constexpr bool has(Action action) const { return (bits_ & bit(action)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(const ActionSet&, const ActionSet&) = default;

 private:
  static constexpr std::uint32_t bit(Action action) { return std::uint32_t{1} << static_cast<unsigned>(action); }
  std::uint32_t bits_ = 0;
};

enum class NoAction : std::uint8_t {};

template <class State, class Event, class Action = NoAction>
struct Row {
  using Actions = ActionSet<Action>;
  State from;
  Event on;
  State to;
  Actions actions{};
};

// `Definition` has: State, Event (enums that count from 0), state_names, event_names, rows, first, and last (terminal)
// unless the life is a circle.
template <class Definition>
class Machine {
 public:
  using State = typename Definition::State;
  using Event = typename Definition::Event;
  using Actions = typename std::remove_cvref_t<decltype(Definition::rows[0])>::Actions;
  // What came of an event. False: the table has no such row and the state is as before; the owner ends this one
  // connection or exchange with Cause::internal and counts it, and nobody else is harmed.
  struct Step {
    bool known = false;
    Actions actions{};
    constexpr explicit operator bool() const { return known; }
  };
  static constexpr std::size_t states = std::size(Definition::state_names);
  static constexpr std::size_t events = std::size(Definition::event_names);

  constexpr Machine() = default;
  constexpr explicit Machine(State state) : state_(state) {}

  constexpr State state() const { return state_; }
  constexpr bool is(State state) const { return state_ == state; }
  constexpr bool ended() const { return state_ == Definition::last; }
  constexpr std::string_view name() const { return Definition::state_names[static_cast<std::size_t>(state_)]; }

  [[nodiscard]] constexpr Step step(Event event) {
    const Cell& cell = cell_of(state_, event);
    if (cell.next == none) return {};
    coverage::taken<Definition>(state_, event);
    state_ = static_cast<State>(cell.next);
    return {true, cell.actions};
  }

  static constexpr bool has(State from, Event on) { return cell_of(from, on).next != none; }
  static constexpr State target(State from, Event on) { return static_cast<State>(cell_of(from, on).next); }
  static constexpr Actions actions(State from, Event on) { return cell_of(from, on).actions; }

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
  static constexpr bool all_reach_last() { return all_reach(Definition::last); }
  static constexpr bool all_reach(State target) {
    std::array<bool, states> reaches{};
    reaches[static_cast<std::size_t>(target)] = true;
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
  struct Cell {
    std::uint8_t next = none;
    Actions actions{};
  };
  using Table = std::array<std::array<Cell, events>, states>;

  static constexpr Table make_table() {
    Table lines{};
    for (const auto& row : Definition::rows) {
      lines[static_cast<std::size_t>(row.from)][static_cast<std::size_t>(row.on)] = {static_cast<std::uint8_t>(row.to),
                                                                                     row.actions};
    }
    return lines;
  }
  static constexpr Table table = make_table();
  static constexpr const Cell& cell_of(State from, Event on) {
    return table[static_cast<std::size_t>(from)][static_cast<std::size_t>(on)];
  }

  State state_ = Definition::first;
};

}  // namespace ebb::lifecycle

#define EBB_ENUMERATOR(name) name,
#define EBB_ENUMERATOR_NAME(name) #name,
