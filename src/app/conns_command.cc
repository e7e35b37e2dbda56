#include "app/conns_command.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "app/cli.h"
#include "app/duration_option.h"
#include "app/terminal.h"
#include "base/result.h"
#include "census/collect.h"
#include "census/explain.h"
#include "census/json.h"
#include "census/recording.h"
#include "census/screen.h"
#include "observe/text_escape.h"

namespace ebb::app {
namespace {

constexpr std::size_t explained_max = 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

void print_to_stdout(std::string_view piece) { std::fwrite(piece.data(), 1, piece.size(), stdout); }

class Conns {
 public:
  explicit Conns(const ConnsArguments& arguments) : arguments_(arguments) {}

  Outcome<int> run() {
    const auto prepared = prepare();
    if (!prepared) return std::unexpected(prepared.error());
    if (arguments_.watch) return watch();
    census::Sample sample = EBB_TRY(arguments_.replay.empty() ? sample_repeatedly() : replay());
    const census::Census census = classify_all(std::move(sample), history_, policy_, gone_);
    if (!arguments_.why.empty()) return explain_each(census);
    show(census);
    return exit_ok;
  }

 private:
  Outcome<> prepare() {
    filter_ = EBB_TRY(census::Filter::parse(arguments_.filters));
    gone_ = EBB_TRY(census::parse_gone(arguments_.gone));
    policy_.limit_ms = base::to_ms(EBB_TRY(duration("--limit", arguments_.limit)));
    policy_.quiet_ms = base::to_ms(EBB_TRY(duration("--quiet", arguments_.quiet)));
    policy_.orphan_ms = base::to_ms(EBB_TRY(duration("--orphan", arguments_.orphan)));
    every_ = EBB_TRY(duration("--every", arguments_.every));
    if (!arguments_.record.empty()) {
      record_.reset(std::fopen(arguments_.record.c_str(), "we"));
      if (!record_) return std::unexpected(fmt::format("{}: {}", arguments_.record, std::strerror(errno)));
    }
    if (arguments_.all) {
      spaces_ = census::all_spaces();
    } else if (!arguments_.netns.empty()) {
      spaces_ = {census::named_space(arguments_.netns)};
    } else if (arguments_.pid != 0) {
      spaces_ = {census::space_of(arguments_.pid)};
    } else {
      spaces_ = {{"this", ""}};
    }
    return {};
  }

  Outcome<census::Sample> sample_once() {
    if (arguments_.all) spaces_ = census::all_spaces();  // namespaces come and go
    const bool in_full = arguments_.json || record_ || !arguments_.why.empty();
    census::Sample sample = EBB_TRY(census::collect(spaces_, clock_, {.options_of_all = in_full}));
    history_.add(sample);
    if (!record_) return sample;
    bool written = true;
    census::record(sample, [&](std::string_view line) {
      written = written && std::fwrite(line.data(), 1, line.size(), record_.get()) == line.size();
    });
    if (!written || std::fflush(record_.get()) != 0) {
      return std::unexpected(fmt::format("{}: {}", arguments_.record, std::strerror(errno)));
    }
    return sample;
  }

  Outcome<census::Sample> sample_repeatedly() {
    for (std::uint32_t left = std::max(arguments_.samples, 1U); left > 1; --left) {
      const base::Instant next = clock_.now() + every_;
      const auto sample = sample_once();
      if (!sample) return std::unexpected(sample.error());
      pause_until(next);
    }
    return sample_once();
  }

  void pause_until(base::Instant next) {
    const auto left = std::max<std::int64_t>(0, base::to_ms(next - clock_.now()));
    ::poll(nullptr, 0, static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max())));
  }

  // The last sample, judged with all earlier samples.
  Outcome<census::Sample> replay() {
    std::ifstream file(arguments_.replay, std::ios::binary);
    if (!file) return std::unexpected(fmt::format("{}: {}", arguments_.replay, std::strerror(errno)));
    census::Recording recording(file);
    std::optional<census::Sample> last;
    for (;;) {
      auto sample = recording.next();
      if (!sample) return std::unexpected(fmt::format("{}: {}", arguments_.replay, sample.error()));
      if (!*sample) break;
      history_.add(**sample);
      last = std::move(*sample);
    }
    if (!last) return std::unexpected(fmt::format("{}: there is no sample in it", arguments_.replay));
    return std::move(*last);
  }

  void show(const census::Census& census) const {
    std::vector<std::uint32_t> shown = filter_.select(census);
    const auto* const sort = std::ranges::find(census::sort_names, arguments_.sort);
    if (sort != census::sort_names.end()) {
      census::sort(census, static_cast<census::SortBy>(sort - census::sort_names.begin()), shown);
    }
    if (arguments_.json) return census::print_json(census, shown, print_to_stdout);
    if (arguments_.by == "process") {
      census::print_groups(census, shown, census::GroupBy::process, print_to_stdout);
    } else if (arguments_.by == "peer") {
      census::print_groups(census, shown, census::GroupBy::peer, print_to_stdout);
    } else if (arguments_.by == "verdict") {
      census::print_groups(census, shown, census::GroupBy::verdict, print_to_stdout);
    } else {
      census::print_table(census, shown, print_to_stdout);
    }
    std::fflush(stdout);
    fmt::print(stderr, "{}\n", census::summary(census, shown));
    for (const std::string& note : census.sample.notes) fmt::print(stderr, "note: {}\n", observe::visible(note));
  }

  Outcome<int> explain_each(const census::Census& census) const {
    auto found = EBB_TRY(census::find_sockets(census, arguments_.why));
    std::erase_if(found, [&](std::uint32_t index) { return !filter_.admits(census, index); });
    if (found.empty()) return std::unexpected(fmt::format("there is no socket {}", arguments_.why));
    for (std::size_t i = 0; i < std::min(found.size(), explained_max); ++i) {
      fmt::print("{}{}", i == 0 ? "" : "\n", census::explain(census, found[i], policy_));
    }
    if (found.size() > explained_max) {
      fmt::print("\n... and {} more; cookie:NUMBER names exactly one\n", found.size() - explained_max);
    }
    return exit_ok;
  }

  Outcome<int> watch() {
    auto first = EBB_TRY(sample_once());
    const std::unique_ptr<Terminal> terminal = EBB_TRY(Terminal::open());
    census::Screen screen(filter_);
    census::Census census = classify_all(std::move(first), history_, policy_, gone_);
    base::Instant next = clock_.now() + every_;
    for (;;) {
      const Terminal::Size size = terminal->size();
      terminal->show(screen.draw(census, size.rows, size.columns));
      const Terminal::Event event = terminal->wait(next - clock_.now());
      if (event.kind == Terminal::Event::Kind::end) return exit_ok;
      if (event.kind == Terminal::Event::Kind::key && !screen.press(event.key, event.character)) return exit_ok;
      if (clock_.now() < next) continue;
      next = clock_.now() + every_;
      if (!screen.paused()) census = classify_all(EBB_TRY(sample_once()), history_, policy_, gone_);
    }
  }

  const ConnsArguments& arguments_;
  const base::SystemClock clock_;
  census::Policy policy_;
  census::Filter filter_;
  census::GonePeers gone_;
  census::History history_;
  std::vector<census::SpaceName> spaces_;
  base::Duration every_{};
  File record_;
};

}  // namespace

int take_census(const ConnsArguments& arguments) {
  const auto done = Conns(arguments).run();
  if (done) return *done;
  fmt::print(stderr, "ebbgate conns: {}\n", observe::visible(done.error()));
  return exit_failed;
}

}  // namespace ebb::app
