#include "sim/inhabitant.h"

namespace ebb::sim {

namespace {

class Gate final : public Inhabitant {
 public:
  Gate(reactor::Reactor& reactor, const base::Labels& labels, gate::Siblings siblings)
      : worker_(reactor, labels, {.siblings = std::move(siblings)}) {}

  reactor::Handler& handler() override { return worker_; }
  void apply(gate::Configuration configuration) override { worker_.apply(std::move(configuration)); }
  void drain() override { worker_.drain(); }
  gate::Audit audit() override { return worker_.audit(); }
  gate::Worker* worker() override { return &worker_; }

 private:
  gate::Worker worker_;
};

}  // namespace

std::unique_ptr<Inhabitant> make_gate(reactor::Reactor& reactor, const base::Labels& labels, gate::Siblings siblings) {
  return std::make_unique<Gate>(reactor, labels, std::move(siblings));
}

}  // namespace ebb::sim
