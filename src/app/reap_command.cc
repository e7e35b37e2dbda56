#include "app/reap_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>

#include "admin/server.h"
#include "app/cli.h"
#include "config/watch.h"
#include "observe/event_log.h"
#include "observe/process_facts.h"
#include "observe/text_escape.h"
#include "reactor/descriptor.h"
#include "reap/arms.h"
#include "reap/look_pace.h"
#include "reap/node_watch.h"
#include "reap/policy_file.h"
#include "reap/privileges.h"
#include "reap/reaper.h"
#include "reap/truth_file.h"

namespace ebb::app {
namespace {

void print(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

class ReapCommand {
 public:
  explicit ReapCommand(const ReapArguments& arguments) : arguments_(arguments) {}

  int run() {
    auto gone = census::parse_gone(arguments_.gone);
    if (!gone) return fail("--gone: " + gone.error());
    gone_ = std::move(*gone);
    return arguments_.once ? run_once() : run_on();
  }

 private:
  static int fail(const std::string& problem) {
    fmt::print(stderr, "ebbgate reap: {}\n", observe::visible(problem));
    return exit_failed;
  }
  static int refuse(const config::Diagnostics& diagnostics) {
    fmt::print(stderr, "{}\n", config::text_of(diagnostics));
    return exit_failed;
  }

  std::expected<reap::Policy, config::Diagnostics> load_policy() const {
    auto policy = reap::load_policy(arguments_.policy);
    if (!policy) return policy;
    policy->act = policy->act && !arguments_.dry_run;
    if (arguments_.arm && !policy->arm) policy->arm.emplace();
    return policy;
  }

  std::expected<void, config::Diagnostics> read_policy() {
    auto policy = load_policy();
    if (!policy) return std::unexpected(policy.error());
    if (*policy == reaper_.policy()) return {};
    arms_.set_policy(*policy);
    if (!policy->nodes.watch) nodes_.forget();
    reaper_.set_policy(std::move(*policy));
    return {};
  }

  const std::string& truth_path() const {
    return arguments_.endpoints.empty() ? reaper_.policy().endpoints : arguments_.endpoints;
  }

  std::expected<void, config::Diagnostics> read_truth() {
    reap::Truth truth;
    if (!truth_path().empty()) {
      auto loaded = reap::load_truth(truth_path());
      if (watch_ != nullptr && !watch_->current()) return {};  // changed meanwhile: the watch calls again
      if (!loaded) return std::unexpected(loaded.error());
      truth = std::move(*loaded);
    }
    if (!arguments_.gone.empty()) truth.gone.push_back(gone_);
    nodes_.know(truth);
    reaper_.know(std::move(truth));
    return {};
  }

  int run_once() {
    if (const auto read = read_policy(); !read) return refuse(read.error());
    if (const auto read = read_truth(); !read) return refuse(read.error());
    if (const auto done = reaper_.round(); !done) return fail(done.error());
    if (arguments_.json) return exit_ok;
    const reap::Totals totals = reaper_.totals();
    std::string summary = fmt::format("{} sockets looked at, {} with grounds", totals.sockets, totals.found);
    for (std::size_t outcome = 0; outcome < reap::outcome_names.size(); ++outcome) {
      std::uint64_t sum = 0;
      for (const std::uint64_t count : totals.outcomes[outcome]) sum += count;
      if (sum > 0) summary += fmt::format(", {} {}", sum, reap::outcome_names[outcome]);
    }
    fmt::print(stderr, "{}\n", summary);
    for (const std::string& note : reaper_.notes()) fmt::print(stderr, "note: {}\n", observe::visible(note));
    return exit_ok;
  }

  int run_on() {
    sigset_t awaited;
    sigemptyset(&awaited);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&awaited, signal);
    pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    signals_ = reactor::Descriptor(::signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK));
    changed_ = reactor::Descriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!signals_ || !changed_) return fail(std::strerror(errno));
    // Threads that start from here on have no more privileges than this thread.
    const auto first = load_policy();
    if (!first) return refuse(first.error());
    arms_.attach(*first);
    if (const auto shed = reap::shed_privileges(); !shed) return fail("privileges: " + shed.error());
    reaper_.set_sight([this](base::Instant began, const census::Sample& sample) { see(began, sample); });
    reaper_.set_silent_nodes([this](const base::Address& end) { return nodes_.is_reported(end); });
    // Watch before reading, so that no change is missed.
    watch({arguments_.policy});
    if (const auto read = read_policy(); !read) return refuse(read.error());
    watch_files();
    if (const auto read = read_truth(); !read) return refuse(read.error());
    admin::Server server;
    if (std::string problem; !serve_metrics(server, problem)) return fail("metrics: " + problem);
    events_.info("started", {{"version", EBB_VERSION},
                             {"act", reaper_.policy().act ? "true" : "false"},
                             {"endpoints", truth_path()},
                             {"metrics", server.address().valid() ? server.address().text() : ""}});
    while (wait()) look();
    events_.info("stopped");
    return exit_ok;
  }

  void watch(std::vector<std::string> files) {
    if (watch_ != nullptr) return watch_->set_files(std::move(files));
    const auto held = [this](const std::string& file, base::Duration waiting) {
      events_.warning("file_held_open",
                      {{"file", file},
                       {"waiting_s", std::to_string(base::to_ms(waiting) / 1000)},
                       {"reason", "another process has it open for writing, so it may be incomplete"},
                       {"remedy", "let its writer close it, or replace it by renaming another file"}});
    };
    auto started =
        config::Watch::start(std::move(files), [this] { ::eventfd_write(changed_.get(), 1); }, {.held = held});
    if (started) {
      watch_ = std::move(*started);
      return;
    }
    events_.warning("files_not_watched",
                    {{"reason", std::strerror(started.error().sys)},
                     {"remedy", "raise fs.inotify.max_user_instances, or send SIGHUP after a change"}});
  }

  void watch_files() {
    std::vector<std::string> files{arguments_.policy};
    if (!truth_path().empty()) files.push_back(truth_path());
    watch(std::move(files));
  }

  bool serve_metrics(admin::Server& server, std::string& problem) {
    if (!reaper_.policy().metrics.valid()) return true;
    server.add("/metrics", [this](const admin::Request& request, admin::Respond respond) {
      const observe::MetricFormat format = observe::choose_metric_format(request.accept);
      admin::Answer answer{.content_type = std::string(observe::content_type(format))};
      observe::MetricWriter writer(format, answer.body);
      reap::write_metrics(writer, reaper_.totals());
      nodes_.write_metrics(writer);
      arms_.write_metrics(writer);
      writer.finish();
      respond(std::move(answer));
    });
    server.add("/api/v1/nodes", [this](const admin::Request&, admin::Respond respond) {
      respond({.content_type = "application/json", .body = nodes_.nodes_json()});
    });
    return server.start({.admin = {.address = reaper_.policy().metrics}}, problem);
  }

  base::Instant next_look() const {
    const base::Instant due = reaper_.next_round();
    return reaper_.policy().nodes.watch ? std::min(due, pace_.due()) : due;
  }

  // Waits until a look is due. False: the end.
  bool wait() {
    for (;;) {
      const base::Instant next = std::min(next_look(), nodes_.knocks_due().value_or(base::Instant::max()));
      const base::Duration left = std::max(next - clock_.now(), base::Duration{});
      pollfd awaited[] = {{signals_.get(), POLLIN, 0}, {changed_.get(), POLLIN, 0}};
      const timespec timeout{left / std::chrono::seconds{1}, (left % std::chrono::seconds{1}).count()};
      ::ppoll(awaited, 2, &timeout, nullptr);
      signalfd_siginfo signal{};
      const bool signalled = ::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal);
      if (signalled && signal.ssi_signo != SIGHUP) return false;
      eventfd_t count = 0;
      if (signalled || ::eventfd_read(changed_.get(), &count) == 0) reread();
      if (const auto due = nodes_.knocks_due(); due && *due <= clock_.now() && nodes_.tend_knocks()) return true;
      if (next_look() <= clock_.now()) return true;
    }
  }

  void reread() {
    const auto policy = read_policy();
    if (!policy) {
      reaper_.policy_refused();
      events_.error("policy_refused", {{"reason", config::text_of(policy.error())}});
    } else {
      watch_files();
    }
    const auto truth = read_truth();
    if (!truth) {
      reaper_.truth_refused();
      events_.error("endpoints_refused", {{"reason", config::text_of(truth.error())}});
      return;
    }
    const reap::Totals totals = reaper_.totals();
    const auto count = [&totals](reap::Presence presence) {
      return std::to_string(totals.endpoints[static_cast<std::size_t>(presence)]);
    };
    events_.info("files_read", {{"ready", count(reap::Presence::ready)},
                                {"leaving", count(reap::Presence::leaving)},
                                {"gone", count(reap::Presence::gone)}});
  }

  void see(base::Instant began, const census::Sample& sample) {
    if (reaper_.policy().nodes.watch) nodes_.look(began, sample);
    arms_.sweep(
        sample, [this] { return kernel_.owners(); },
        [&](const census::Socket& socket, const census::Process& process) {
          return reaper_.may_touch(sample, socket, process);
        });
  }

  // Looks for silent nodes are frequent; most of the time a glance is enough.
  bool glance_is_enough() {
    if (nodes_.hurries()) return false;
    const auto glanced = reaper_.glance();
    return glanced && !nodes_.wants_look(*glanced) && !arms_.wants_sweep(*glanced);
  }

  void look() {
    const base::Instant began = clock_.now();
    // CPU time: by the clock a look takes longer on a busy machine, which is no reason to look less often.
    const base::Duration cpu_before = observe::cpu_time();
    const bool round_is_due = reaper_.next_round() <= began;
    const bool enough = !round_is_due && glance_is_enough();
    const auto done = enough ? std::expected<void, std::string>() : reaper_.round();
    // Rounds have their own limit and do not count here.
    const base::Duration took = round_is_due ? base::Duration{} : observe::cpu_time() - cpu_before;
    pace_.looked(began, took, reaper_.policy().nodes.every, nodes_.hurries());
    if (enough) return;
    const std::string problem = done ? std::string() : done.error();
    if (problem != problem_) events_.error("look", {{"problem", problem.empty() ? "none any more" : problem}});
    problem_ = problem;
    if (reaper_.notes() == notes_) return;
    notes_ = reaper_.notes();
    for (const std::string& note : notes_) events_.warning("not_seen", {{"what", note}});
  }

  const ReapArguments& arguments_;
  const base::SystemClock clock_;
  observe::EventLog events_{STDOUT_FILENO, observe::EventLog::Format::json, clock_};
  reap::LiveKernel kernel_{clock_};
  reap::Arms arms_{events_};
  reap::NodeWatch nodes_{clock_, events_};
  const bool readable_ = arguments_.once && !arguments_.json;
  reap::Reaper reaper_{kernel_, clock_, [this](const reap::Record& record) {
                         print(readable_ ? reap::text_line(record) : reap::json_line(record));
                       }};
  census::GonePeers gone_;
  reactor::Descriptor signals_;
  reactor::Descriptor changed_;
  std::unique_ptr<config::Watch> watch_;  // after the members that its thread uses
  reap::LookPace pace_;
  std::string problem_;  // of the last look
  std::vector<std::string> notes_;
};

}  // namespace

int reap_sockets(const ReapArguments& arguments) { return ReapCommand(arguments).run(); }

}  // namespace ebb::app
