// On a socket of our own: the kernel lets a process have duplicates of what it holds itself.
#include "reap/stall_limits.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "census/builders.h"
#include "reactor/descriptor.h"

namespace ebb::reap {
namespace {

TEST(StallChange, OfEverySocket) {
  using census::stalled;
  const census::Socket quiet = census::established();
  EXPECT_EQ(stall_change(quiet, false), StallChange::none);
  EXPECT_EQ(stall_change(quiet, true), StallChange::lift);
  EXPECT_EQ(stall_change(stalled(0, 0, 200, 100), false), StallChange::none) << "sent, and not yet answered";
  EXPECT_EQ(stall_change(stalled(0, 0, 200, 100), true), StallChange::lift);
  EXPECT_EQ(stall_change(stalled(1, 100, 400, 300), false), StallChange::limit);
  EXPECT_EQ(stall_change(stalled(1, 100, 400, 300), true), StallChange::none);
  census::Socket probed = census::with_keepalive(15, 15, 9, 40'000);
  probed.timer_count = 2;
  EXPECT_EQ(stall_change(probed, false), StallChange::none) << "its own keepalive decides";
}

class StallLimitsTest : public testing::Test {
 protected:
  StallLimitsTest() {
    known_.cookie = 0;
    socklen_t size = sizeof(known_.cookie);
    EXPECT_EQ(::getsockopt(socket_.get(), SOL_SOCKET, SO_COOKIE, &known_.cookie, &size), 0);
    known_.fd = static_cast<std::uint32_t>(socket_.get());
    limits_->follow(process_, known_, false);
  }

  std::uint32_t timeout() const {
    return census::read_option(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT).value_or(12'345);
  }
  bool refused() {  // by a kernel or a container that does not know pidfd_getfd
    return !census::Twins().open(process_, known_);
  }
  std::uint64_t sweep(census::Socket seen) {
    census::Sample sample;
    seen.cookie = known_.cookie;
    sample.sockets.push_back(seen);
    return limits_->sweep(sample);
  }

  const reactor::Descriptor socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP)};
  const census::Process process_{static_cast<std::uint32_t>(::getpid()), "test"};
  const std::uint32_t ours_ = stall_timeout_ms({});
  const census::Socket stalled_ = census::stalled(1, 100, 400, 300);
  census::Socket known_;
  std::unique_ptr<StallLimits> limits_ = std::make_unique<StallLimits>(ArmLimits{});
};

TEST_F(StallLimitsTest, LastAsLongAsTheStall) {
  if (refused()) GTEST_SKIP() << "pidfd_getfd is refused";
  EXPECT_EQ(sweep(census::established()), 0U);
  EXPECT_EQ(timeout(), 0U);
  EXPECT_EQ(sweep(stalled_), 1U);
  EXPECT_EQ(timeout(), ours_);
  EXPECT_TRUE(limits_->any_limited());
  EXPECT_EQ(sweep(stalled_), 0U) << "once";
  EXPECT_EQ(sweep(census::established()), 0U);
  EXPECT_EQ(timeout(), 0U);
  EXPECT_FALSE(limits_->any_limited());
}

TEST_F(StallLimitsTest, AreLiftedAtTheEnd) {
  if (refused()) GTEST_SKIP() << "pidfd_getfd is refused";
  sweep(stalled_);
  limits_.reset();
  EXPECT_EQ(timeout(), 0U);
}

TEST_F(StallLimitsTest, LeaveWhatTheProgramSetsMeanwhile) {
  if (refused()) GTEST_SKIP() << "pidfd_getfd is refused";
  sweep(stalled_);
  census::set_option(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
  sweep(census::established());
  EXPECT_EQ(timeout(), 30'000U);
  EXPECT_EQ(sweep(stalled_), 0U);
  EXPECT_EQ(timeout(), 30'000U);
}

TEST_F(StallLimitsTest, ForgetSocketsThatAreNoLongerThere) {
  if (refused()) GTEST_SKIP() << "pidfd_getfd is refused";
  limits_->sweep({});
  EXPECT_EQ(sweep(stalled_), 0U);
  EXPECT_EQ(timeout(), 0U);
}

TEST_F(StallLimitsTest, OfAnAgentThatWasKilledAreLiftedByTheNext) {
  if (refused()) GTEST_SKIP() << "pidfd_getfd is refused";
  census::set_option(socket_.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, ours_);
  limits_ = std::make_unique<StallLimits>(ArmLimits{});
  limits_->follow(process_, known_, true);
  sweep(census::established());
  EXPECT_EQ(timeout(), 0U);
}

}  // namespace
}  // namespace ebb::reap
