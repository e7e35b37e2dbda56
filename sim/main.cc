// ebbsim: runs the real gate in simulated worlds, one per seed, and says which seed failed.
//
//   ebbsim --seed N [--trace]                    one run; with every event
//   ebbsim --seeds N [--start S] [--jobs J]      many; stops at the first failure unless --keep-going
//   ... --scene NAME                             of that scene only
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/scenario.h"

namespace {

using ebb::sim::Scenario;

struct Options {
  std::uint64_t start = 1;
  std::uint64_t seeds = 1;
  std::uint64_t jobs = 1;
  bool trace = false;
  bool single = false;
  bool keep_going = false;
};

// Of the run in progress, for the handler of a crash.
Scenario* current_scenario = nullptr;
std::uint64_t current_seed = 0;
const ebb::sim::Scene* chosen_scene = nullptr;  // null: as the seed says

std::string again(std::uint64_t seed) {
  const std::string scene = chosen_scene == nullptr ? "" : fmt::format(" --scene '{}'", chosen_scene->name);
  return fmt::format("ebbsim --seed {}{} --trace", seed, scene);
}

std::unique_ptr<Scenario> make_scenario(std::uint64_t seed) {
  if (chosen_scene == nullptr) return std::make_unique<Scenario>(seed, ebb::sim::make_gate);
  return std::make_unique<Scenario>(seed, *chosen_scene, chosen_scene->time, ebb::sim::make_gate);
}

void report_failure(Scenario& scenario, std::uint64_t seed, std::string_view why) {
  std::string text = fmt::format("seed {} FAILED: {}\n  {}\n", seed, why, scenario.summary());
  for (const ebb::sim::Note& note : scenario.world().last_notes()) text += "  " + note.text() + "\n";
  text += fmt::format("  again: {}\n", again(seed));
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

// Not safe in a signal handler in general; here the process is ours, has one thread and is about to end.
void on_crash(int signal) {
  std::signal(signal, SIG_DFL);
  if (current_scenario != nullptr) report_failure(*current_scenario, current_seed, strsignal(signal));
  std::raise(signal);
}

struct Tally {
  std::uint64_t runs = 0;
  std::uint64_t failures = 0;
  std::uint64_t steps = 0;
};

bool run_seed(std::uint64_t seed, bool trace, Tally& tally) {
  const std::unique_ptr<Scenario> made = make_scenario(seed);
  Scenario& scenario = *made;
  current_scenario = &scenario;
  current_seed = seed;
  scenario.world().print_notes(trace);
  const bool passed = scenario.run();
  if (!passed) report_failure(scenario, seed, scenario.world().failure());
  if (passed && trace)
    fmt::print("seed {}: {} steps, trace {:016x}; {}\n", seed, scenario.world().steps(), scenario.world().trace_hash(),
               scenario.summary());
  tally.runs += 1;
  tally.failures += passed ? 0 : 1;
  tally.steps += scenario.world().steps();
  current_scenario = nullptr;
  return passed;
}

// A child runs every jobs-th seed and writes its tally after each into the pipe: the parent knows where it crashed.
[[noreturn]] void run_child(const Options& options, std::uint64_t first, int pipe) {
  for (std::uint64_t seed = first; seed < options.start + options.seeds; seed += options.jobs) {
    Tally tally;
    run_seed(seed, false, tally);
    if (::write(pipe, &tally, sizeof(tally)) != sizeof(tally)) ::_exit(2);
    if (tally.failures > 0 && !options.keep_going) break;
  }
  ::_exit(0);
}

struct Child {
  pid_t pid = -1;
  int pipe = -1;
  std::uint64_t next = 0;  // the seed that it works on
};

Child start_child(const Options& options, std::uint64_t first) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(2);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    run_child(options, first, ends[1]);
  }
  ::close(ends[1]);
  return {pid, ends[0], first};
}

Tally run_many(const Options& options) {
  Tally total;
  bool stopping = false;
  std::vector<Child> children;
  for (std::uint64_t i = 0; i < options.jobs && i < options.seeds; ++i)
    children.push_back(start_child(options, options.start + i));
  while (!children.empty()) {
    for (std::size_t i = 0; i < children.size();) {
      Child& child = children[i];
      Tally tally;
      if (::read(child.pipe, &tally, sizeof(tally)) == sizeof(tally)) {
        child.next += options.jobs;
        total.runs += tally.runs;
        total.failures += tally.failures;
        total.steps += tally.steps;
        ++i;
        continue;
      }
      ::close(child.pipe);
      int status = 0;
      ::waitpid(child.pid, &status, 0);
      if (status == 0 || stopping) {
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      fmt::print("seed {} CRASHED (status {})\n  again: {}\n", child.next, status, again(child.next));
      total.failures += 1;
      const std::uint64_t after = child.next + options.jobs;
      if (options.keep_going && after < options.start + options.seeds) {
        child = start_child(options, after);
      } else {
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    if (total.failures > 0 && !options.keep_going && !std::exchange(stopping, true)) {
      for (const Child& child : children) ::kill(child.pid, SIGTERM);
    }
  }
  return total;
}

bool parse(int count, char** arguments, Options& options) {
  const auto number = [&](int& i, std::uint64_t& value) {
    if (++i >= count) return false;
    const char* end = arguments[i] + std::strlen(arguments[i]);
    const auto [rest, error] = std::from_chars(arguments[i], end, value);
    return error == std::errc{} && rest == end;
  };
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    bool good = true;
    if (option == "--seed") {
      options.single = true;
      good = number(i, options.start);
    } else if (option == "--seeds") {
      good = number(i, options.seeds);
    } else if (option == "--start") {
      good = number(i, options.start);
    } else if (option == "--jobs") {
      good = number(i, options.jobs) && options.jobs > 0;
    } else if (option == "--scene") {
      chosen_scene = ++i < count ? ebb::sim::find_scene(arguments[i]) : nullptr;
      good = chosen_scene != nullptr;
    } else if (option == "--trace") {
      options.trace = true;
    } else if (option == "--keep-going") {
      options.keep_going = true;
    } else {
      good = false;
    }
    if (!good) return false;
  }
  return true;
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) {
    std::fputs(
        "usage: ebbsim --seed N [--trace] | --seeds N [--start S] [--jobs J] [--keep-going], each [--scene NAME]\n",
        stderr);
    return 2;
  }
  std::signal(SIGABRT, on_crash);
  std::signal(SIGSEGV, on_crash);
  const ebb::base::SystemClock clock;
  const auto began = clock.now();
  Tally total;
  if (options.single) {
    run_seed(options.start, options.trace, total);
  } else {
    total = run_many(options);
  }
  const std::chrono::duration<double> took = clock.now() - began;
  fmt::print("{} runs, {} failed, {} steps in {:.1f} s ({:.0f} steps/s)\n", total.runs, total.failures, total.steps,
             took.count(), static_cast<double>(total.steps) / took.count());
  return total.failures == 0 ? 0 : 1;
}
