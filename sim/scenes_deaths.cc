// One endpoint of several falls ill after a second or two, and is cured some seconds later. The router is told nothing.
//
// Requests that can be repeated must all be answered. Others are lost if they were in the hands of the ill one; so is
// what it had begun to answer.
#include <algorithm>

#include "sim/scenes.h"

namespace ebb::sim {

namespace {

using Fate = void (*)(Backend& process);

struct Death {
  const char* why;
  Fate strike;
  Fate cure;
  Duration lasts_min = milliseconds{500};
  bool reads = false;  // so that it can say what it was asked
};

// A worker takes an endpoint for silent if that would be too surprising of a healthy one, which takes several requests
// of a kind that it knows well, and a trial of such a kind. What is usual there decides when one is overdue. Where the
// load was not enough for that, nothing can be known.
constexpr Duration surely_overdue = milliseconds{2500};
constexpr std::ptrdiff_t known_kind = 60;  // answers, per worker, of all endpoints
constexpr std::ptrdiff_t warm_kind = 15;   // of the endpoint itself, which has as much time as a cold one before

void excuse_the_few(const Stage& stage, Backend& process, Instant since) {
  const std::ptrdiff_t workers = std::ssize(stage.site.workers());
  const auto known = [&](const Exchange& asked) {
    std::ptrdiff_t answers = 0, own = 0;
    for (const Exchange& exchange : stage.ledger.all()) {
      const bool same_kind = exchange.backend == asked.backend && exchange.method == asked.method;
      if (exchange.outcome != Outcome::answered || !same_kind) continue;
      answers += 1;
      own += exchange.endpoint == process.name() ? 1 : 0;
    }
    return answers >= known_kind * workers && own >= warm_kind * workers;
  };
  Instant answered{};
  for (const Exchange& exchange : stage.ledger.all()) {
    const bool here = exchange.outcome == Outcome::answered && exchange.endpoint == process.name();
    if (here) answered = std::max(answered, exchange.sent_at);
  }
  std::ptrdiff_t waiting = 0;
  for (const std::uint64_t number : process.in_hand()) {
    const Exchange& exchange = *stage.ledger.find(number);
    if (!known(exchange)) {
      stage.ledger.excuse(number, "its kind is too rare to tell silence from slowness");
    } else if (stage.world.now() - exchange.sent_at > surely_overdue && exchange.sent_at > answered) {
      waiting += 1;  // one that later ones have overtaken may be slow by nature: it is no evidence
    }
  }
  const auto elsewhere = std::ranges::count_if(stage.ledger.all(), [&](const Exchange& exchange) {
    return exchange.outcome == Outcome::answered && exchange.ended_at > since && exchange.endpoint != process.name();
  });
  if (waiting <= 3 * workers || elsewhere < 10 * workers)
    stage.ledger.excuse_all_at(process.name(), "too few to tell silence from slowness");
}

void play(Stage& stage, const Death& death) {
  base::Rng& rng = stage.world.rng();
  const auto index = static_cast<std::uint32_t>(rng.below(stage.site.groups().size()));
  Group& group = stage.site.groups()[index];
  Backend* process = group.endpoints[rng.below(group.endpoints.size())].process.get();
  const Duration sound = stage.world.draw(seconds{1}, seconds{2});
  const Duration ill = stage.world.draw(death.lasts_min, death.lasts_min + seconds{3});
  stage.world.after(sound, [=] {
    stage.ledger.begin_trouble(index, death.why, death.reads ? process->name() : "");
    death.strike(*process);
  });
  stage.world.after(sound + ill, [=] {
    excuse_the_few(stage, *process, stage.world.now() - ill);
    death.cure(*process);
    stage.ledger.end_trouble(index);
  });
}

void recover(Backend& process) { process.recover(); }
void find_way(Backend& process) { process.find_way(); }

constexpr Death node_death{"packets to it vanish", [](Backend& process) { process.lose_way(Way::swallows); }, find_way};
constexpr Death link_down{"its link is down", [](Backend& process) { process.lose_way(Way::unreachable); }, find_way};
constexpr Death frozen{"its process is stopped", [](Backend& process) { process.fall_ill(Ill::frozen); }, recover};
// What it was asked it never answers, cured or not: that must be found out while it answers nobody.
constexpr Death mute{"it answers nothing", [](Backend& process) { process.fall_ill(Ill::mute); }, recover, seconds{3},
                     true};
// As long as it answers some, nobody can tell that it will never answer the others: those it names itself.
constexpr Death gray{"it answers some", [](Backend& process) { process.fall_ill(Ill::gray); }, recover,
                     milliseconds{500}, true};
constexpr Death resets{"it resets what it accepts", [](Backend& process) { process.fall_ill(Ill::resets); }, recover};
constexpr Death killed{"its process is killed", [](Backend& process) { process.kill(); },
                       [](Backend& process) { process.start(); }};

constexpr Scene scenes[] = {
    {"node death", 2, 4, [](Stage& stage) { play(stage, node_death); }},
    {"link down", 2, 4, [](Stage& stage) { play(stage, link_down); }},
    {"frozen", 2, 4, [](Stage& stage) { play(stage, frozen); }},
    {"no answer", 2, 4, [](Stage& stage) { play(stage, mute); }},
    {"gray", 2, 4, [](Stage& stage) { play(stage, gray); }},
    {"reset", 2, 4, [](Stage& stage) { play(stage, resets); }},
    {"kill", 2, 4, [](Stage& stage) { play(stage, killed); }},
};

}  // namespace

std::span<const Scene> deaths() { return scenes; }

}  // namespace ebb::sim
