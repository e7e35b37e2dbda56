#include "sim/world.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/assert.h"

namespace ebb::sim {

std::string Note::text() const {
  char line[160];
  const double at_ms = static_cast<double>(when.time_since_epoch().count()) / 1e6;
  std::snprintf(line, sizeof(line), "%12.3f ms  %-34s %llu %llu", at_ms, what, static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return line;
}

World::World(std::uint64_t seed) : rng_(seed), tie_rng_(~seed) {}

base::WallTime World::wall() const {
  return base::WallTime{} + std::chrono::hours{24 * 365 * 50} + now_.time_since_epoch();
}

void World::at(Instant when, Task task) {
  std::size_t slot = tasks_.size();
  if (free_tasks_.empty()) {
    tasks_.push_back(std::move(task));
  } else {
    slot = free_tasks_.back();
    free_tasks_.pop_back();
    tasks_[slot] = std::move(task);
  }
  events_.push({std::max(when, now_), tie_rng_.next(), sequence_++, slot});
}

bool World::step() {
  if (events_.empty()) return false;
  const Event event = events_.top();
  events_.pop();
  EBB_ASSERT(event.when >= now_);
  now_ = event.when;
  steps_ += 1;
  Task task = std::move(tasks_[event.task]);
  tasks_[event.task] = nullptr;
  free_tasks_.push_back(event.task);
  task();
  return true;
}

void World::note(const char* what, std::uint64_t a, std::uint64_t b) {
  const Note note{now_, what, a, b};
  notes_[note_count_++ % notes_kept] = note;
  const auto mix = [this](std::uint64_t value) {
    trace_hash_ = (trace_hash_ ^ value) * 0x9e3779b97f4a7c15u;
    trace_hash_ ^= trace_hash_ >> 29;
  };
  for (const char* c = what; *c != '\0'; ++c) mix(static_cast<unsigned char>(*c));
  mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
  mix(a);
  mix(b);
  if (print_notes_) std::puts(note.text().c_str());
}

std::vector<Note> World::last_notes() const {
  std::vector<Note> notes;
  const std::uint64_t first = note_count_ > notes_kept ? note_count_ - notes_kept : 0;
  for (std::uint64_t i = first; i < note_count_; ++i) notes.push_back(notes_[i % notes_kept]);
  return notes;
}

void World::fail(std::string why) {
  if (failed()) return;
  failure_ = std::move(why);
  note("FAILED");
}

Duration World::draw(Duration low, Duration high) {
  return Duration{static_cast<std::int64_t>(
      rng_.between(static_cast<std::uint64_t>(low.count()), static_cast<std::uint64_t>(high.count())))};
}

}  // namespace ebb::sim
