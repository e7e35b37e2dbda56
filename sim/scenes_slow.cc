// Nothing is wrong, and much is slow: by the nature of requests, because a process is new, or because it does one thing
// at a time. No request may be lost for it, no stream or tunnel cut, nothing executed twice that must not be.
#include "sim/scenes.h"

namespace ebb::sim {

namespace {

constexpr Duration slow_time = seconds{30};

void nothing(Stage&) {}

// New ones join, and are not ready for what they get.
void cold(Stage& stage) {
  Site& site = stage.site;
  for (Duration joins = seconds{3}; joins < seconds{25}; joins += stage.world.draw(seconds{5}, seconds{10})) {
    stage.world.after(joins, [&stage, &site] {
      const std::size_t index = site.spawn(0);
      BackendHabits habits = site.groups().front().habits;
      habits.cold = stage.world.draw(seconds{1}, seconds{8});
      site.groups().front().endpoints[index].process->set_habits(habits);
      site.set_standing(0, index, Standing::ready);
      site.tell(0);
    });
  }
}

void serial(Stage& stage) {
  Group& group = stage.site.groups().front();
  BackendHabits habits = group.habits;
  habits.serial = true;
  group.endpoints.front().process->set_habits(habits);
}

constexpr Pace slow_posts{.slow_posts = 300};
constexpr Pace slow_gets{.slow_gets = 200};
constexpr Pace mixed{.slow_gets = 150, .slow_posts = 300};
constexpr Pace all{.slow_gets = 1000, .slow_posts = 1000, .least = seconds{1}};
constexpr Pace quick{};
constexpr Pace sometimes{.slow_gets = 20, .slow_posts = 20, .least = seconds{2}, .most = seconds{8}};
constexpr Pace quiet{.slow_gets = 50, .slow_posts = 50, .quiet = 300, .tunnels = 300};
constexpr Pace polls{.slow_gets = 500, .least = seconds{5}, .most = seconds{20}};
constexpr Pace heavy{.slow_gets = 10, .slow_posts = 10};

constexpr Scene scenes[] = {
    {"slow POSTs", 2, 4, nothing, &slow_posts, slow_time},
    {"slow GETs", 2, 4, nothing, &slow_gets, slow_time},
    {"slow ones", 2, 4, nothing, &mixed, slow_time},
    {"all slow", 2, 4, nothing, &all, slow_time},
    {"cold", 2, 3, cold, &quick, slow_time},
    {"serial", 2, 4, serial, &sometimes, slow_time},
    {"quiet streams", 2, 4, nothing, &quiet, slow_time},
    {"long polls", 2, 4, nothing, &polls, slow_time},
    {"heavy", 2, 4, nothing, &heavy, slow_time},
};

}  // namespace

std::span<const Scene> slowness() { return scenes; }

}  // namespace ebb::sim
