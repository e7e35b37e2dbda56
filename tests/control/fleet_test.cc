// Configurations on their way to real workers, with real listening sockets.
#include "control/fleet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include "reactor/descriptor.h"
#include "reactor/io_uring_refusal.h"
#include "reactor/sockets.h"

namespace ebb::control {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A free address; the descriptor keeps it, if it listens.
base::Address free_address(reactor::Descriptor& holder, bool listens = false) {
  holder = reactor::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const base::Address any = *base::Address::parse("127.0.0.1:0");
  EXPECT_EQ(::bind(holder.get(), any.raw(), any.raw_size()), 0);
  if (listens) EXPECT_EQ(::listen(holder.get(), 1), 0);
  return reactor::local_address_of(holder.get());
}

class FleetTest : public testing::TestWithParam<reactor::Kind> {
 protected:
  void SetUp() override {
    const auto refusal = reactor::io_uring_refusal();
    if (GetParam() == reactor::Kind::uring && refusal) GTEST_SKIP() << *refusal;
    std::string problem;
    fleet_ = Fleet::start({.workers = 2, .io = GetParam()}, labels_, problem);
    ASSERT_NE(fleet_, nullptr) << problem;
    reactor::Descriptor holders[2];
    stays_ = free_address(holders[0]);
    moves_ = free_address(holders[1]);
  }

  std::vector<std::string> apply(const std::vector<base::Address>& listeners) {
    routes::Model model;
    for (const base::Address& address : listeners) {
      model.listeners.push_back({.name = address.text(), .bind = address});
    }
    gate::Configuration configuration;
    configuration.tls.resize(listeners.size());
    EXPECT_THAT(routes::Snapshot::compile(std::move(model), ++generation_, labels_, configuration.snapshot), IsEmpty());
    return fleet_->apply(configuration);
  }

  base::Labels labels_;
  std::unique_ptr<Fleet> fleet_;
  std::uint64_t generation_ = 0;
  base::Address stays_;
  base::Address moves_;
};

// A worker keeps the socket of a listener that left for two milliseconds more.
TEST_P(FleetTest, TakesAListenerThatComesBackAtOnce) {
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_THAT(apply({stays_, moves_}), IsEmpty()) << turn;
    ASSERT_THAT(apply({stays_}), IsEmpty()) << turn;
  }
}

TEST_P(FleetTest, TakesAListenerAtOnceAfterARefusedConfigurationWithIt) {
  reactor::Descriptor other;
  const base::Address taken = free_address(other, true);
  for (int turn = 0; turn < 20; ++turn) {
    ASSERT_THAT(apply({stays_, moves_, taken}), ElementsAre(HasSubstr("Address already in use"))) << turn;
    ASSERT_THAT(apply({stays_, moves_}), IsEmpty()) << turn;
    ASSERT_THAT(apply({stays_}), IsEmpty()) << turn;
  }
}

TEST_P(FleetTest, RefusesAnAddressOfAnotherProgram) {
  reactor::Descriptor other;
  const base::Address taken = free_address(other, true);
  EXPECT_THAT(apply({stays_, taken}), ElementsAre(HasSubstr("Address already in use")));
}

INSTANTIATE_TEST_SUITE_P(Kinds, FleetTest, testing::Values(reactor::Kind::epoll, reactor::Kind::uring),
                         [](const auto& info) { return info.param == reactor::Kind::uring ? "uring" : "epoll"; });

}  // namespace
}  // namespace ebb::control
