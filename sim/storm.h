// Many troubles at a time, of the kinds that the climate has, for some seconds. What they cost is excused in general,
// so that a storm asks for less than a scene (sim/scenes.h): that all ends, that bytes are right, that the books are.
#pragma once

#include <functional>

#include "sim/population.h"
#include "sim/site.h"

namespace ebb::sim {

class Storm {
 public:
  Storm(World& world, Network& network, Site& site, const Climate& climate, std::function<void()> change_listener)
      : world_(world),
        network_(network),
        site_(site),
        climate_(climate),
        change_listener_(std::move(change_listener)) {}

  void begin(Duration time);
  void end() { over_ = true; }

 private:
  void strike_path();
  void strike_host();
  void starve();
  void change_endpoints();

  World& world_;
  Network& network_;
  Site& site_;
  const Climate& climate_;
  std::function<void()> change_listener_;
  bool over_ = false;
};

}  // namespace ebb::sim
