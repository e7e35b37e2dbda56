// Nodes that fell silent: suspected when all that is sent to them goes unanswered, reported when a knock fails as well.
// Pure: looks and results of knocks go in with the time, changes come out.
//
//              knock failed                    knock failed
//   suspected ──────────────▶ reported ◀────────────┐
//    │  ▲  │                   │  │ └───────────────┘
//    │  │  └─ knock answered ─┐│  │
//    │  │                     ▼▼  │
//    │  └────── relapsed ── excused   only the connections are ill: looked at again after a while
//    │                         │  │
//    └────────── heard, left ──┴──┴──▶ forgotten
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "lifecycle/machine.h"
#include "reap/knock_series.h"
#include "reap/node_evidence.h"

namespace ebb::reap {

#define EBB_NODE_STATES(X) X(suspected) X(excused) X(reported) X(forgotten)
#define EBB_NODE_EVENTS(X)                                                    \
  X(knock_failed)                                                             \
  X(knock_answered)                                                           \
  X(relapsed) /* excused a while ago, and its connections are silent still */ \
  X(heard)    /* a connection has had an answer */                            \
  X(left)     /* nothing goes there any more */

struct NodeLife {
  enum class State : std::uint8_t { EBB_NODE_STATES(EBB_ENUMERATOR) };
  enum class Event : std::uint8_t { EBB_NODE_EVENTS(EBB_ENUMERATOR) };
  static constexpr std::string_view state_names[] = {EBB_NODE_STATES(EBB_ENUMERATOR_NAME)};
  static constexpr std::string_view event_names[] = {EBB_NODE_EVENTS(EBB_ENUMERATOR_NAME)};
  static constexpr State first = State::suspected;
  static constexpr State last = State::forgotten;

  using S = State;
  using E = Event;
  static constexpr lifecycle::Row<State, Event> rows[] = {
      {S::suspected, E::knock_failed, S::reported}, {S::suspected, E::knock_answered, S::excused},
      {S::suspected, E::heard, S::forgotten},       {S::suspected, E::left, S::forgotten},

      {S::excused, E::relapsed, S::suspected},      {S::excused, E::heard, S::forgotten},
      {S::excused, E::left, S::forgotten},

      {S::reported, E::knock_failed, S::reported},  {S::reported, E::knock_answered, S::excused},
      {S::reported, E::heard, S::forgotten},        {S::reported, E::left, S::forgotten},
  };
};

using NodeMachine = lifecycle::Machine<NodeLife>;
static_assert(NodeMachine::deterministic());
static_assert(NodeMachine::last_is_terminal());
static_assert(NodeMachine::all_reach_last());
static_assert(NodeMachine::every_live_state_has(NodeLife::Event::heard));
static_assert(NodeMachine::every_live_state_has(NodeLife::Event::left));

struct NodeRecord {
  NodeMachine life;
  NodeEvidence evidence;  // of the last look that showed silence
  base::Instant suspected_at;
  base::Instant silent_at;  // the last look that showed silence
  base::Instant knock_at;   // when the next knock is due
  bool knocking = false;
};

class Suspicion {
 public:
  static constexpr std::size_t nodes_max = 256;
  static constexpr base::Duration excuse = std::chrono::seconds{5};
  static constexpr base::Duration knock_every = std::chrono::seconds{1};
  static constexpr base::Duration memory = std::chrono::minutes{10};  // of a reported node without traffic

  enum class News : std::uint8_t { suspected, reported, cleared, recovered, forgotten };
  struct Change {
    News news;
    std::string node;
    NodeEvidence evidence;
    base::Duration lasted;  // since the suspicion
  };

  // `now` is the time before the look.
  std::vector<Change> look(base::Instant now, std::span<const NodeEvidence> nodes);
  // Nodes to knock at now; a node is returned again only after its result.
  struct Knock {
    NodeEvidence evidence;
    KnockTimes times;
  };
  std::vector<Knock> take_knocks(base::Instant now);
  std::optional<Change> knocked(base::Instant now, const std::string& node, KnockResult result);

  bool is_reported(const std::string& node) const;
  // The next look should be soon, because it may decide about a node.
  bool hurries() const { return hurries_; }
  const std::map<std::string, NodeRecord>& records() const { return records_; }
  std::uint64_t reported_total() const { return reported_total_; }
  // Silent nodes that were not followed because of the limit.
  std::uint64_t left_out_total() const { return left_out_total_; }

 private:
  using Records = std::map<std::string, NodeRecord>;
  std::optional<Change> see(base::Instant now, NodeRecord& record, const NodeEvidence& evidence);
  std::optional<Change> step(base::Instant now, NodeRecord& record, NodeLife::Event event);
  bool is_undecided(const NodeEvidence& evidence) const;

  Records records_;
  bool hurries_ = false;
  std::uint64_t reported_total_ = 0;
  std::uint64_t left_out_total_ = 0;
};

}  // namespace ebb::reap
