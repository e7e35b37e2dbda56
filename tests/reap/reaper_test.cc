#include "reap/reaper.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <map>

#include "reap/builders.h"

namespace ebb::reap {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* living = "10.1.0.5:8443";
constexpr const char* dead = "10.1.0.6:8443";

class FakeKernel final : public Kernel {
 public:
  std::expected<census::Sample, std::string> look(const Wanted& wanted) override {
    ++looks;
    if (during_look) during_look();
    if (!refusal.empty()) return std::unexpected(refusal);
    census::Sample sample;
    sample.spaces = {{"cni-1", {}}};
    if (wanted("cni-1")) {
      for (const auto& [cookie, socket] : sockets) sample.sockets.push_back(socket);
    }
    return sample;
  }
  std::expected<census::Sample, std::string> glance(const Wanted& wanted) override { return look(wanted); }
  census::Owners owners() override {
    ++walks;
    census::Owners owners;
    owners.processes.push_back({4242, "client"});
    for (const auto& [cookie, socket] : sockets) owners.by_inode[socket.inode] = {0, 7};
    return owners;
  }
  std::string cgroup_of(std::uint32_t) override { return "/kubepods/pod1"; }
  std::expected<Fresh, int> look_again(const census::Socket& socket) override {
    if (before_second_look) before_second_look();
    const auto found = sockets.find(socket.cookie);
    if (found == sockets.end()) return std::unexpected(ENOENT);
    return Fresh{found->second, census::Tracked{{}, {}, 99}};
  }
  std::expected<void, int> destroy(const census::Socket& socket) override {
    if (destroy_error != 0) return std::unexpected(destroy_error);
    if (sockets.erase(socket.cookie) == 0) return std::unexpected(ENOENT);
    destroyed.push_back(socket.cookie);
    return {};
  }
  bool forget(const Fresh& fresh) override { return fresh.entry && fresh.entry->id == 99; }
  void leave() override { ++left; }

  census::Socket& add(census::Socket socket) {
    socket.cookie = ++cookies;
    socket.inode = 1000 + static_cast<std::uint32_t>(socket.cookie);
    return sockets[socket.cookie] = socket;
  }

  std::map<std::uint64_t, census::Socket> sockets;
  std::vector<std::uint64_t> destroyed;
  std::function<void()> during_look;
  std::function<void()> before_second_look;
  std::string refusal;
  int destroy_error = 0;
  int looks = 0;
  int walks = 0;
  int left = 0;
  std::uint64_t cookies = 0;
};

class ReaperTest : public testing::Test {
 protected:
  ReaperTest() {
    policy_.act = true;
    policy_.allow = {{.netns = {"cni-*"}}};
    use(policy_);
    reaper_.know(truth_of({endpoint(living), endpoint(dead, Presence::gone)}));
  }
  void use(const Policy& policy) { reaper_.set_policy(policy); }
  void round() { ASSERT_TRUE(reaper_.round()); }
  std::vector<Outcome> outcomes() {
    std::vector<Outcome> all;
    for (const Record& record : std::exchange(records_, {})) all.push_back(record.outcome);
    return all;
  }
  base::Duration until_next() const { return std::max(reaper_.next_round() - clock_.now(), base::Duration{}); }

  base::FakeClock clock_;
  FakeKernel kernel_;
  std::vector<Record> records_;
  Policy policy_;
  Reaper reaper_{kernel_, clock_, [this](const Record& record) { records_.push_back(record); }};
};

TEST_F(ReaperTest, EndsTheStaleAndLeavesTheLiving) {
  kernel_.add(pinned(living));
  kernel_.add(pinned(dead));
  kernel_.add(direct("10.9.9.9:80"));
  round();
  EXPECT_THAT(kernel_.destroyed, ElementsAre(2));
  ASSERT_EQ(records_.size(), 1U);
  EXPECT_EQ(records_[0].outcome, Outcome::ended);
  EXPECT_TRUE(records_[0].entry_deleted);
  EXPECT_EQ(records_[0].owner.process, "client");
  EXPECT_EQ(kernel_.left, 1);
  round();
  EXPECT_EQ(records_.size(), 1U);
}

TEST_F(ReaperTest, WithoutActItOnlySaysSoAndOnce) {
  policy_.act = false;
  use(policy_);
  kernel_.add(pinned(dead));
  round();
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::would_end));
  EXPECT_EQ(kernel_.walks, 1);  // owners are expensive
}

TEST_F(ReaperTest, WhatIsNotAllowedIsNeitherTouchedNorTold) {
  policy_.allow = {{.netns = {"cni-*"}, .process = {"other"}}};
  use(policy_);
  kernel_.add(pinned(dead));
  round();
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_THAT(outcomes(), IsEmpty());
  EXPECT_EQ(kernel_.walks, 1);
  EXPECT_EQ(reaper_.totals().of(Outcome::not_allowed, Ground::listed_gone), 1U);
}

TEST_F(ReaperTest, NothingIsAllowedByDefault) {
  policy_.allow.clear();
  use(policy_);
  kernel_.add(pinned(dead));
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
}

TEST_F(ReaperTest, LabelsComeFromTheTruth) {
  policy_.allow = {{.labels = {{"app", "web"}}}};
  use(policy_);
  kernel_.add(pinned(dead));
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  Truth truth = truth_of({endpoint(living), endpoint(dead, Presence::gone)});
  truth.places = {{.cgroup = {"/kubepods/pod1"}, .labels = {{"app", "web"}}}};
  reaper_.know(truth);
  round();
  EXPECT_THAT(kernel_.destroyed, ElementsAre(1));
}

TEST_F(ReaperTest, ASocketThatEndedMeanwhileIsLeftAlone) {
  kernel_.add(pinned(dead));
  kernel_.before_second_look = [this] { kernel_.sockets.clear(); };
  round();
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::vanished));
}

TEST_F(ReaperTest, ASocketThatRecoveredMeanwhileIsLeftAlone) {
  policy_.end.unanswered = seconds{5};
  use(policy_);
  census::Socket silent = census::stalled(5, 8000, 6400, 100);
  kernel_.add(silent);
  kernel_.before_second_look = [this] { kernel_.sockets.begin()->second = census::established(0); };
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::recovered));
}

TEST_F(ReaperTest, ASocketThatIsTranslatedToTheLivingMeanwhileIsLeftAlone) {
  kernel_.add(pinned(dead));
  kernel_.before_second_look = [this] { kernel_.sockets.begin()->second.real_peer = address(living); };
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::recovered));
}

TEST_F(ReaperTest, NothingFollowsFromAGlance) {
  kernel_.add(pinned(dead));
  const auto sample = reaper_.glance();
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->sockets.size(), 1U);
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_EQ(kernel_.left, 1);
  EXPECT_LE(reaper_.next_round(), clock_.now()) << "a look is due all the same";
}

TEST_F(ReaperTest, SlowLooksAreMadeLessOften) {
  clock_.advance(seconds{60});
  kernel_.during_look = [this] { clock_.advance(milliseconds{400}); };
  round();
  EXPECT_EQ(until_next(), seconds{20} - milliseconds{400}) << "a fiftieth of the time while nothing is expected";
  reaper_.know(truth_of({endpoint(living)}));
  EXPECT_EQ(until_next(), milliseconds{800}) << "and a third of it however much is due";
  clock_.advance(milliseconds{800});
  round();
  EXPECT_EQ(until_next(), milliseconds{800});
}

TEST_F(ReaperTest, TheBudgetHoldsInAnyMinuteAndTheRestComesLater) {
  policy_.budget = 2;
  use(policy_);
  for (int i = 0; i < 5; ++i) kernel_.add(pinned(dead));
  round();
  EXPECT_EQ(kernel_.destroyed.size(), 2U);
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::ended, Outcome::ended, Outcome::over_budget, Outcome::over_budget,
                                      Outcome::over_budget));
  clock_.advance(seconds{59});
  round();
  EXPECT_THAT(outcomes(), IsEmpty());
  clock_.advance(seconds{1});
  round();
  EXPECT_EQ(kernel_.destroyed.size(), 4U);
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::ended, Outcome::ended));
}

TEST_F(ReaperTest, ADryRunSpendsTheBudgetToo) {
  policy_.act = false;
  policy_.budget = 1;
  use(policy_);
  kernel_.add(pinned(dead));
  kernel_.add(pinned(dead));
  round();
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::would_end, Outcome::over_budget));
}

TEST_F(ReaperTest, WhatTheKernelRefusesIsToldOnceAndTriedAgain) {
  kernel_.add(pinned(dead));
  kernel_.destroy_error = EPERM;
  round();
  ASSERT_EQ(records_.size(), 1U);
  EXPECT_EQ(records_[0].error, EPERM);
  EXPECT_THAT(json_line(records_[0]), HasSubstr("\"event\":\"failed\""));
  round();
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::failed));
  kernel_.destroy_error = 0;
  round();
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::ended));
}

TEST_F(ReaperTest, AChangeIsLookedAtAtOnceThenOftenThenAsThePolicySays) {
  reaper_.know(truth_of({endpoint(living)}));
  EXPECT_EQ(until_next(), seconds{0});
  round();
  EXPECT_EQ(until_next(), milliseconds{100});
  clock_.advance(milliseconds{500});
  round();
  EXPECT_EQ(until_next(), milliseconds{250});
  clock_.advance(seconds{2});
  round();
  EXPECT_EQ(until_next(), seconds{1});
  clock_.advance(seconds{10});
  round();
  EXPECT_EQ(until_next(), policy_.every);
}

TEST_F(ReaperTest, AnAdditionIsNoReasonToLookOften) {
  clock_.advance(seconds{60});
  reaper_.know(truth_of({endpoint(living), endpoint(dead, Presence::gone), endpoint("10.1.0.9:80")}));
  EXPECT_EQ(until_next(), seconds{0});
  round();
  EXPECT_EQ(until_next(), policy_.every);
}

TEST_F(ReaperTest, TheEndOfAGraceIsNotSleptThrough) {
  clock_.advance(seconds{60});
  Truth truth = truth_of({endpoint(living), endpoint(dead, Presence::leaving)});
  truth.services[0].grace = milliseconds{20'300};
  reaper_.know(truth);
  kernel_.add(pinned(dead));
  clock_.advance(seconds{20});
  round();
  EXPECT_THAT(outcomes(), IsEmpty());
  EXPECT_EQ(until_next(), milliseconds{300});
  clock_.advance(milliseconds{300});
  round();
  ASSERT_EQ(records_.size(), 1U);
  EXPECT_EQ(records_[0].finding.ground, Ground::grace_over);
}

TEST_F(ReaperTest, ALookThatTheKernelRefusesIsAnError) {
  kernel_.refusal = "no";
  EXPECT_FALSE(reaper_.round());
  EXPECT_EQ(reaper_.totals().looks_failed, 1U);
}

TEST_F(ReaperTest, MetricsTellDecisionsByOutcomeAndGround) {
  kernel_.add(pinned(dead));
  round();
  std::string text;
  observe::MetricWriter writer(observe::MetricFormat::prometheus, text);
  write_metrics(writer, reaper_.totals());
  EXPECT_THAT(text, HasSubstr("ebbgate_reap_sockets_total{outcome=\"ended\",ground=\"listed_gone\"} 1"));
  EXPECT_THAT(text, HasSubstr("ebbgate_reap_endpoints{state=\"gone\"} 1"));
  EXPECT_THAT(text, HasSubstr("ebbgate_reap_acting 1"));
}

TEST_F(ReaperTest, RecordsCarryTheEvidence) {
  kernel_.add(pinned(dead));
  round();
  ASSERT_EQ(records_.size(), 1U);
  const std::string json = json_line(records_[0]);
  for (const char* const part : {"\"event\":\"ended\"", "\"ground\":\"listed_gone\"", "\"service\":\"shop/api\"",
                                 "\"conntrack_deleted\":true", "\"netns\":\"cni-1\"", "\"process\":\"client\"",
                                 "\"real_peer\":\"10.1.0.6:8443\"", "\"info\":{", "\"cookie\":1"}) {
    EXPECT_THAT(json, HasSubstr(part));
  }
  EXPECT_THAT(text_line(records_[0]),
              HasSubstr("ended 10.0.0.1:40000 -> 10.96.0.1:443>10.1.0.6:8443 of client/4242 in cni-1"));
}

TEST_F(ReaperTest, EndsWhatGoesToASilentNodeOnlyIfThePolicySaysSo) {
  const auto is_silent = [](const base::Address& end) { return end == address("10.9.9.9:80"); };
  reaper_.set_silent_nodes(is_silent);
  census::Socket quiet = direct("10.9.9.9:80");
  quiet.last_received_ms = quiet.last_acknowledged_ms = 5'000;
  kernel_.add(quiet);
  kernel_.add(direct("10.9.9.8:80"));
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  policy_.end.silent_nodes = true;
  use(policy_);
  round();
  EXPECT_THAT(kernel_.destroyed, ElementsAre(1));
  ASSERT_EQ(records_.size(), 1U);
  EXPECT_EQ(records_[0].finding.ground, Ground::silent_node);
  EXPECT_EQ(records_[0].finding.ms, 5'000);
}

TEST_F(ReaperTest, LeavesASocketThatHasHeardFromItsSilentNode) {
  policy_.end.silent_nodes = true;
  use(policy_);
  reaper_.set_silent_nodes([](const base::Address&) { return true; });
  census::Socket quiet = direct("10.9.9.9:80");
  quiet.last_received_ms = quiet.last_acknowledged_ms = 5'000;
  kernel_.add(quiet);
  kernel_.before_second_look = [this] { kernel_.sockets.begin()->second.last_acknowledged_ms = 3; };
  round();
  EXPECT_THAT(kernel_.destroyed, IsEmpty());
  EXPECT_THAT(outcomes(), ElementsAre(Outcome::recovered));
}

TEST_F(ReaperTest, ShowsEachLookBeforeItDecides) {
  kernel_.add(pinned(dead));
  std::size_t seen = 0;
  bool allowed = false;
  reaper_.set_sight([&](base::Instant began, const census::Sample& sample) {
    EXPECT_EQ(began, clock_.now());
    EXPECT_THAT(kernel_.destroyed, IsEmpty());
    seen = sample.sockets.size();
    allowed = reaper_.may_touch(sample, sample.sockets[0], {4242, "client"});
  });
  round();
  EXPECT_EQ(seen, 1U);
  EXPECT_TRUE(allowed);
}

}  // namespace
}  // namespace ebb::reap
