// One simulated world: a virtual clock, a queue of future events and one seeded generator. One seed is one run: no
// decision may depend on an address, on the order of a hash table or on the machine's clock.
// Everything in the world is owned by its Scenario; the world only owns time, chance and the trace.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/rng.h"

namespace ebb::sim {

using base::Duration;
using base::Instant;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// One thing that happened. `what` is a literal; the numbers say to whom.
struct Note {
  Instant when{};
  const char* what = "";
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  std::string text() const;
};

class World final : public base::Clock {
 public:
  using Task = std::move_only_function<void()>;

  explicit World(std::uint64_t seed);

  Instant now() const override { return now_; }
  base::WallTime wall() const override;
  base::Rng& rng() { return rng_; }

  void at(Instant when, Task task);
  void after(Duration delay, Task task) { at(now_ + delay, std::move(task)); }
  // Runs the next event; false if there is none.
  bool step();
  std::uint64_t steps() const { return steps_; }

  // The trace: hashed whole, the last notes kept, all printed if asked.
  void note(const char* what, std::uint64_t a = 0, std::uint64_t b = 0);
  std::uint64_t trace_hash() const { return trace_hash_; }
  void print_notes(bool on) { print_notes_ = on; }
  std::vector<Note> last_notes() const;  // oldest first

  // The first failure is the one that counts: what follows from it is noise.
  void fail(std::string why);
  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }

  // A duration drawn evenly from [low, high].
  Duration draw(Duration low, Duration high);

 private:
  struct Event {
    Instant when;
    std::uint64_t tie;  // events of the same instant come in a seeded order
    std::uint64_t sequence;
    std::size_t task;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.when != b.when) return a.when > b.when;
      if (a.tie != b.tie) return a.tie > b.tie;
      return a.sequence > b.sequence;
    }
  };
  static constexpr std::size_t notes_kept = 50;

  Instant now_{};
  base::Rng rng_;
  base::Rng tie_rng_;  // of its own, so that scheduling an event does not shift the other draws
  std::priority_queue<Event, std::vector<Event>, Later> events_;
  std::vector<Task> tasks_;  // slots named by Event::task
  std::vector<std::size_t> free_tasks_;
  std::uint64_t sequence_ = 0;
  std::uint64_t steps_ = 0;
  std::array<Note, notes_kept> notes_{};
  std::uint64_t note_count_ = 0;
  std::uint64_t trace_hash_ = 0xcbf29ce484222325u;
  bool print_notes_ = false;
  std::string failure_;
};

}  // namespace ebb::sim
