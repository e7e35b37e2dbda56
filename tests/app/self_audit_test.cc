// The audit of a real fleet in this very process: what it holds, and what the test takes from it or adds.
#include "observe/self_audit.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <sstream>

#include "app/audited_rooms.h"
#include "reactor/descriptor.h"
#include "reactor/io_uring_refusal.h"
#include "routes/snapshot.h"

namespace ebb::app {
namespace {

using observe::AuditReport;
using observe::Claim;
using observe::ClaimKind;
using observe::Claims;
using observe::DifferenceKind;
using reactor::Descriptor;
using testing::AllOf;
using testing::HasSubstr;

constexpr observe::AuditPace pace{.every = base::Duration{}, .between = std::chrono::milliseconds{20}};

class SelfAuditTest : public testing::TestWithParam<reactor::Kind> {
 protected:
  void SetUp() override {
    log_.open(log_path_, std::ios::trunc);
    events_descriptor_ = Descriptor(::open(log_path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    inherited_ = observe::open_descriptors();
    const auto refusal = reactor::io_uring_refusal();
    if (GetParam() == reactor::Kind::uring && refusal) GTEST_SKIP() << *refusal;
    std::string problem;
    fleet_ = control::Fleet::start({.workers = 2, .io = GetParam()}, labels_, problem);
    ASSERT_NE(fleet_, nullptr) << problem;
    serve();
    events_.emplace(events_descriptor_.get(), observe::EventLog::Format::text, clock_);
    audit_.emplace(pace, *events_, clock_);
    audit_->set_rooms({audited_worker(*fleet_, 0), audited_worker(*fleet_, 1), rest()});
  }
  void TearDown() override { ::unlink(log_path_.c_str()); }

  void serve() {
    Descriptor probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    address_ = *base::Address::parse("127.0.0.1:0");
    ASSERT_EQ(::bind(probe.get(), address_.raw(), address_.raw_size()), 0);
    sockaddr_storage storage{};
    socklen_t size = sizeof(storage);
    ::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&storage), &size);
    address_ = base::Address::from(reinterpret_cast<sockaddr*>(&storage));
    probe = Descriptor();

    routes::Model model;
    model.listeners.push_back({.name = "web", .bind = address_});
    gate::Configuration configuration;
    configuration.tls.resize(1);
    ASSERT_TRUE(routes::Snapshot::compile(std::move(model), 1, labels_, configuration.snapshot).empty());
    ASSERT_TRUE(fleet_->apply(configuration).empty());
  }

  // What belongs to the test: all that was open before, and its clients.
  observe::AuditedRoom rest() {
    return {
        .name = "test", .post = nullptr, .walk = [this]() -> observe::AuditedRoom::Step {
          return [this](Claims& out) {
            for (const auto& one : inherited_) {
              out.push_back({.descriptor = one.number, .kind = ClaimKind::inherited, .inode = one.inode});
            }
            for (const Descriptor& one : clients_) {
              out.push_back({.descriptor = one.get(), .kind = ClaimKind::own, .inode = reactor::inode_of(one.get())});
            }
            return false;
          };
        }};
  }

  void connect_clients(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      clients_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      ASSERT_EQ(::connect(clients_.back().get(), address_.raw(), address_.raw_size()), 0);
    }
    while (book(ClaimKind::client).size() < clients_.size()) {
    }
  }
  // Those of that kind, of both workers.
  Claims book(ClaimKind kind) {
    Claims all;
    for (std::size_t worker = 0; worker < 2; ++worker) {
      std::promise<Claims> told;
      fleet_->post(worker, [&] {
        Claims claims;
        for (gate::BookCursor cursor; fleet_->worker(worker).read_book(cursor, claims);) {
        }
        told.set_value(std::move(claims));
      });
      for (const Claim& claim : told.get_future().get()) {
        if (claim.kind == kind) all.push_back(claim);
      }
    }
    return all;
  }
  AuditReport run() {
    audit_->run_once();
    return audit_->report();
  }
  std::string log() const {
    std::ostringstream text;
    text << std::ifstream(log_path_).rdbuf();
    return text.str();
  }

  const std::string log_path_ = testing::TempDir() + "ebbgate-audit-" + std::to_string(::getpid()) + ".log";
  std::ofstream log_;
  Descriptor events_descriptor_;
  observe::OpenDescriptors inherited_;
  base::Labels labels_;
  base::SystemClock clock_;
  base::Address address_;
  std::vector<Descriptor> clients_;
  std::unique_ptr<control::Fleet> fleet_;
  std::optional<observe::EventLog> events_;
  std::optional<observe::SelfAudit> audit_;
};

TEST_P(SelfAuditTest, FindsNothingInAFleetThatServes) {
  connect_clients(300);
  const AuditReport report = run();
  EXPECT_EQ(report.runs, 1u);
  EXPECT_EQ(report.differences, 0u) << log();
  EXPECT_EQ(report.claimed[static_cast<std::size_t>(ClaimKind::client)], 300u);
  EXPECT_EQ(report.claimed[static_cast<std::size_t>(ClaimKind::listener)], 2u);
  EXPECT_EQ(log(), "");
}

TEST_P(SelfAuditTest, FindsASocketThatNobodyHolds) {
  Descriptor stray(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(stray.get(), address_.raw(), address_.raw_size()), 0);
  const AuditReport report = run();
  ASSERT_EQ(report.differences, 1u);
  EXPECT_EQ(report.shown[0].difference.kind, DifferenceKind::unclaimed);
  EXPECT_EQ(report.shown[0].difference.descriptor, stray.get());
  EXPECT_EQ(report.shown[0].kernel.remote, address_);
  EXPECT_THAT(log(), AllOf(HasSubstr("event=audit_difference difference=unclaimed"),
                           HasSubstr("descriptor=" + std::to_string(stray.get()) + " "),
                           HasSubstr("remote=" + address_.text()), HasSubstr("tcp_state=established")));
  // Known already: it is counted, but not told again.
  const std::string told = log();
  EXPECT_EQ(run().differences, 1u);
  EXPECT_EQ(log(), told);
  stray = Descriptor();
  EXPECT_EQ(run().differences, 0u);
  EXPECT_THAT(log(), HasSubstr("event=audit_differs differences=0 before=1"));
}

TEST_P(SelfAuditTest, KnowsWhoHeldWhatNobodyHoldsNow) {
  connect_clients(2);
  ASSERT_EQ(run().differences, 0u);
  const Descriptor leaked = std::move(clients_.back());
  clients_.pop_back();
  const AuditReport report = run();
  ASSERT_EQ(report.differences, 1u);
  EXPECT_EQ(report.shown[0].difference.descriptor, leaked.get());
  EXPECT_EQ(report.shown[0].held_by, "test");
  EXPECT_THAT(log(), HasSubstr("held_by=test held_as=own"));
}

TEST_P(SelfAuditTest, FindsASocketThatWasClosedBehindItsOwner) {
  connect_clients(1);
  const Claim victim = book(ClaimKind::client).at(0);
  const Descriptor keep(::dup(victim.descriptor));  // the connection itself stays
  clients_.emplace_back(::dup(keep.get()));         // known to the audit
  inherited_.push_back({keep.get(), victim.inode});
  ::close(victim.descriptor);
  AuditReport report = run();
  ASSERT_EQ(report.differences, 1u) << log();
  EXPECT_EQ(report.shown[0].difference.kind, DifferenceKind::closed);
  EXPECT_EQ(report.shown[0].history.whose, "web");
  EXPECT_TRUE(report.shown[0].history.peer.valid());
  EXPECT_THAT(log(), AllOf(HasSubstr("difference=closed"), HasSubstr("held_as=client"), HasSubstr("whose=web"),
                           HasSubstr("state=")));

  ASSERT_EQ(::dup2(clients_.front().get(), victim.descriptor), victim.descriptor);
  report = run();
  EXPECT_EQ(report.differences, 2u);  // it is not what was held, and what is there is held by nobody
  EXPECT_TRUE(std::ranges::any_of(report.shown, [](const observe::FoundDifference& one) {
    return one.difference.kind == DifferenceKind::replaced;
  }));
  ASSERT_EQ(::dup2(keep.get(), victim.descriptor), victim.descriptor);  // as it was, so that the fleet ends well
  EXPECT_EQ(run().differences, 0u);
}

TEST_P(SelfAuditTest, SaysNothingIfARoomDoesNotAnswer) {
  audit_.emplace(observe::AuditPace{.every = {}, .between = {}, .patience = std::chrono::milliseconds{20}}, *events_,
                 clock_);
  audit_->set_rooms({{.name = "deaf",
                      .post = [](std::move_only_function<void()>) {},
                      .walk = [] { return observe::AuditedRoom::Step([](Claims&) { return false; }); }}});
  const AuditReport report = run();
  EXPECT_EQ(report.runs, 0u);
  EXPECT_EQ(report.runs_incomplete, 1u);
  EXPECT_EQ(report.differences, 0u);
}

INSTANTIATE_TEST_SUITE_P(Reactors, SelfAuditTest, testing::Values(reactor::Kind::epoll, reactor::Kind::uring),
                         [](const auto& kind) { return kind.param == reactor::Kind::epoll ? "Epoll" : "Uring"; });

}  // namespace
}  // namespace ebb::app
