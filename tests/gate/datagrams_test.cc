// Flows, without a kernel: where datagrams go, and when and why a flow ends.
#include "gate/datagrams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gate/datagram_reactor.h"
#include "gate/worker.h"

namespace ebb::gate {
namespace {

using base::Cause;
using testing::ElementsAre;
using namespace std::chrono_literals;

base::Address address(const char* text) { return *base::Address::parse(text); }

const base::Address our_address = address("192.0.2.1:53");
const base::Address every_address = address("0.0.0.0:53");
const base::Address first = address("10.0.0.1:53");
const base::Address second = address("10.0.0.2:53");
const base::Address client = address("198.51.100.7:4000");

class DatagramsTest : public testing::Test {
 protected:
  DatagramsTest() { apply(model()); }
  ~DatagramsTest() override {
    worker_.reset();
    EXPECT_TRUE(reactor_.sockets.empty());
  }

  static routes::Model model() {
    routes::Model model;
    routes::ListenerModel& listener = model.listeners.emplace_back();
    listener.name = "dns";
    listener.bind = our_address;
    listener.protocol = routes::Protocol::udp;
    listener.backend = "dns";
    routes::BackendModel& backend = model.backends.emplace_back();
    backend.name = "dns";
    backend.balance = routes::Balance::round_robin;
    backend.endpoints = {{.name = "first", .address = first}, {.name = "second", .address = second}};
    return model;
  }
  Configuration configuration(const routes::Model& wanted) {
    std::shared_ptr<const routes::Snapshot> snapshot;
    EXPECT_TRUE(routes::Snapshot::compile(wanted, ++generation_, labels_, snapshot).empty());
    const std::size_t listeners = snapshot->listeners().size();
    return {.snapshot = std::move(snapshot), .tls = decltype(Configuration::tls)(listeners)};
  }
  void apply(const routes::Model& wanted) { EXPECT_THAT(worker_->apply(configuration(wanted)), testing::IsEmpty()); }

  void from_client(std::string_view bytes, const base::Address& peer = client) {
    reactor::DatagramSocketId bound;
    base::Owner owner;
    // As the kernel chooses: by the whole address before the port alone.
    reactor_.sockets.for_each([&](base::Handle handle, const DatagramReactor::Socket& socket) {
      const bool whole = socket.local == our_address;
      if (!whole && (bound || socket.local != every_address)) return;
      bound = reactor::DatagramSocketId(handle);
      owner = socket.owner;
    });
    worker_->on_datagram(owner, {.socket = bound, .peer = peer, .local = our_address, .bytes = bytes});
  }
  void from_endpoint(reactor::DatagramSocketId socket, std::string_view bytes) {
    const DatagramReactor::Socket& open = *reactor_.sockets.find(socket);
    worker_->on_datagram(open.owner, {.socket = socket, .peer = open.peer, .local = {}, .bytes = bytes});
  }
  void unreachable(reactor::DatagramSocketId socket) {
    worker_->on_unreachable(reactor_.sockets.find(socket)->owner, socket, {.cause = Cause::backend_refused});
  }
  // The one open socket to that endpoint.
  reactor::DatagramSocketId to(const base::Address& endpoint) {
    const auto found = reactor_.to(endpoint);
    EXPECT_EQ(found.size(), 1u) << endpoint.text();
    return found.empty() ? reactor::DatagramSocketId{} : found.front();
  }
  std::vector<std::string>& sent(const base::Address& endpoint) { return reactor_.sockets.find(to(endpoint))->sent; }
  std::uint64_t ended(Cause cause) {
    std::uint64_t count = 0;
    for (const auto& [key, number] : worker_->collect().requests) count += key.cause == cause ? number : 0;
    return count;
  }
  std::uint64_t moved(Cause cause) { return worker_->collect().datagrams.flows_moved[static_cast<std::size_t>(cause)]; }

  base::Labels labels_;
  DatagramReactor reactor_;
  std::uint64_t generation_ = 0;
  std::unique_ptr<Worker> worker_ = std::make_unique<Worker>(reactor_, labels_, WorkerOptions{.clients_max = 16});
};

TEST_F(DatagramsTest, AnAnswerGoesToTheClientFromTheAddressThatItAsked) {
  from_client("question");
  EXPECT_THAT(sent(first), ElementsAre("question"));
  from_endpoint(to(first), "answer");
  EXPECT_THAT(reactor_.answers, ElementsAre(DatagramReactor::Answer{client, our_address, "answer"}));
}

TEST_F(DatagramsTest, AFlowLivesFromDatagramToDatagramInEitherDirection) {
  from_client("1");
  reactor_.pass(29s, *worker_);
  from_endpoint(to(first), "2");
  reactor_.pass(29s, *worker_);
  from_client("3");
  reactor_.pass(29s, *worker_);
  EXPECT_EQ(worker_->audit().flows, 1u);
  EXPECT_EQ(worker_->audit().without_deadline, 0u);
  reactor_.pass(2s, *worker_);
  EXPECT_EQ(worker_->audit().flows, 0u);
  EXPECT_EQ(ended(Cause::flow_idle_timeout), 1u);
}

TEST_F(DatagramsTest, ARefusalSendsTheNextDatagramElsewhere) {
  from_client("lost");
  unreachable(to(first));
  EXPECT_TRUE(reactor_.to(first).empty());
  from_client("next");
  EXPECT_THAT(sent(second), ElementsAre("next"));
  EXPECT_EQ(moved(Cause::backend_refused), 1u);
}

TEST_F(DatagramsTest, ADatagramThatDidNotLeaveGoesElsewhereItself) {
  from_client("lost");
  reactor_.sockets.find(to(first))->refused = true;
  from_client("kept");
  EXPECT_THAT(sent(second), ElementsAre("kept"));
}

TEST_F(DatagramsTest, WithNobodyElseTheOneThatRefusedIsAskedAgain) {
  routes::Model alone = model();
  alone.backends[0].endpoints.pop_back();
  apply(alone);
  from_client("lost");
  unreachable(to(first));
  from_client("again");
  EXPECT_THAT(sent(first), ElementsAre("again"));
  EXPECT_EQ(moved(Cause::backend_refused), 0u);
}

TEST_F(DatagramsTest, ARefusedFlowThatGoesQuietEndsWithThatCause) {
  from_client("lost");
  unreachable(to(first));
  reactor_.pass(31s, *worker_);
  EXPECT_EQ(ended(Cause::backend_refused), 1u);
}

TEST_F(DatagramsTest, AFlowLeavesAnEndpointThatLeavesAndStillTakesItsLateAnswer) {
  from_client("1");
  routes::Model changed = model();
  changed.backends[0].endpoints[0].state = routes::EndpointState::leaving;
  apply(changed);
  EXPECT_THAT(sent(first), ElementsAre("1")) << "nothing moves before the next datagram";
  from_client("2");
  EXPECT_THAT(sent(second), ElementsAre("2"));
  from_endpoint(to(first), "late");
  EXPECT_EQ(reactor_.answers.back().bytes, "late");
  EXPECT_EQ(moved(Cause::endpoint_gone), 1u);
}

TEST_F(DatagramsTest, AnEndpointThatIsGoneIsForgottenWithItsLastFlow) {
  from_client("1");
  routes::Model changed = model();
  changed.backends[0].endpoints.erase(changed.backends[0].endpoints.begin());
  apply(changed);
  from_client("2");
  EXPECT_EQ(worker_->audit().endpoints, 2u) << "late answers may come";
  reactor_.pass(31s, *worker_);
  EXPECT_EQ(worker_->audit().endpoints, 1u);
}

TEST_F(DatagramsTest, WhereAllAreLeavingAFlowStaysWhereItIs) {
  from_client("1");
  routes::Model changed = model();
  for (routes::EndpointModel& endpoint : changed.backends[0].endpoints) {
    endpoint.state = routes::EndpointState::leaving;
  }
  changed.backends[0].endpoints.pop_back();
  apply(changed);
  from_client("2");
  EXPECT_THAT(sent(first), ElementsAre("1", "2"));
}

TEST_F(DatagramsTest, AFlowEndsWithTheDrainOfItsEndpoint) {
  from_client("1");
  routes::Model changed = model();
  changed.backends[0].endpoints[0].state = routes::EndpointState::drain;
  changed.backends[0].drain_deadline = 5s;
  changed.backends[0].idle_timeout = 60s;
  apply(changed);
  reactor_.pass(4s, *worker_);
  EXPECT_EQ(worker_->audit().flows, 1u);
  reactor_.pass(2s, *worker_);
  EXPECT_EQ(worker_->audit().flows, 0u);
  EXPECT_EQ(ended(Cause::drain_deadline), 1u);
  EXPECT_TRUE(reactor_.to(first).empty());
  from_client("2");
  EXPECT_THAT(sent(second), ElementsAre("2"));
}

TEST_F(DatagramsTest, AnOperatorEndsTheFlowsOfAnEndpoint) {
  from_client("1");
  const auto facts = worker_->endpoint_facts();
  for (const EndpointFacts& endpoint : facts) {
    if (endpoint.address == first) worker_->end_work(endpoint.identity);
  }
  EXPECT_EQ(worker_->audit().flows, 0u);
  EXPECT_EQ(ended(Cause::operator_ended), 1u);
}

TEST_F(DatagramsTest, WithoutAnEndpointDatagramsAreCountedAndTheFlowSaysWhy) {
  routes::Model changed = model();
  changed.backends[0].endpoints.clear();
  apply(changed);
  from_client("1");
  from_client("2");
  EXPECT_EQ(worker_->collect().datagrams.without_endpoint, 2u);
  apply(model());
  from_client("3");
  EXPECT_EQ(reactor_.to(first).size() + reactor_.to(second).size(), 1u);
}

TEST_F(DatagramsTest, TheFlowUsedLeastRecentlyMakesRoom) {
  // A quarter of 16 clients: four flows.
  for (const char* peer : {"198.51.100.1:1", "198.51.100.2:1", "198.51.100.3:1", "198.51.100.4:1", "198.51.100.1:1"}) {
    from_client("x", address(peer));
  }
  EXPECT_EQ(ended(Cause::flow_budget), 0u);
  from_client("x", address("198.51.100.5:1"));
  EXPECT_EQ(worker_->audit().flows, 4u);
  EXPECT_EQ(ended(Cause::flow_budget), 1u);
}

TEST_F(DatagramsTest, AListenerThatStaysKeepsItsFlowsAndOneThatGoesTakesThemAlong) {
  from_client("1");
  apply(model());
  EXPECT_EQ(worker_->audit().flows, 1u);
  routes::Model moved_away = model();
  moved_away.listeners[0].bind = address("192.0.2.1:5353");
  apply(moved_away);
  EXPECT_EQ(worker_->audit().flows, 0u);
  EXPECT_EQ(ended(Cause::listener_removed), 1u);
  EXPECT_TRUE(reactor_.to(first).empty());
}

TEST_F(DatagramsTest, AStopWaitsForTheAnswersThatAreOwedAndTakesNothingNew) {
  from_client("1");
  from_endpoint(to(first), "done");
  from_client("2", address("198.51.100.8:1"));
  bool quiet = false;
  worker_->drain([&quiet] { quiet = true; });
  EXPECT_EQ(worker_->audit().flows, 1u) << "the answered one has ended";
  from_client("3", address("198.51.100.9:1"));
  EXPECT_EQ(worker_->collect().datagrams.while_stopping, 1u);
  EXPECT_FALSE(quiet);
  from_endpoint(to(second), "last");
  EXPECT_EQ(reactor_.answers.back().bytes, "last");
  worker_->on_round_end();
  EXPECT_TRUE(quiet);
  EXPECT_TRUE(reactor_.sockets.empty()) << "the listener is no longer needed";
}

TEST_F(DatagramsTest, AStopDoesNotWaitForAnAnswerForLong) {
  from_client("1");
  bool quiet = false;
  worker_->drain([&quiet] { quiet = true; });
  EXPECT_FALSE(quiet);
  reactor_.pass(2001ms, *worker_);
  EXPECT_TRUE(quiet);
  EXPECT_EQ(ended(Cause::shutdown), 1u);
}

// Nothing that a flow does brings it there: the reactor reports a refusal of a path that it has left.
TEST_F(DatagramsTest, AMissingRowEndsThatFlowAndNoOther) {
  const base::Address neighbour = address("198.51.100.8:4000");
  from_client("1");
  from_client("2", neighbour);
  const reactor::DatagramSocketId left = to(first);
  const base::Owner flow = reactor_.sockets.find(left)->owner;
  worker_->on_unreachable(flow, left, {.cause = Cause::backend_refused});
  worker_->on_unreachable(flow, left, {.cause = Cause::backend_refused});
  worker_->on_round_end();
  EXPECT_EQ(worker_->audit().missing_transitions, 1u);
  EXPECT_EQ(worker_->audit().lost_handles, 0u);
  EXPECT_EQ(worker_->audit().flows, 1u);
  EXPECT_EQ(ended(Cause::internal), 1u);
  from_client("3", neighbour);
  EXPECT_THAT(sent(second), ElementsAre("2", "3"));
  from_client("4");  // begins a new one
  EXPECT_EQ(worker_->audit().flows, 2u);
  reactor_.pass(1s, *worker_);
  EXPECT_EQ(ended(Cause::internal), 1u);
}

TEST_F(DatagramsTest, TheOpenListenerServesWhatANarrowerOneTakesBeforeItsTime) {
  routes::Model wide = model();
  wide.listeners.front().bind = every_address;
  apply(wide);
  from_client("before");  // by the wide one: there is no other
  EXPECT_THAT(worker_->prepare(configuration(model())), testing::IsEmpty());
  from_client("meanwhile");
  from_client("a new flow", address("198.51.100.8:4000"));
  worker_->abandon();
  EXPECT_THAT(sent(first), ElementsAre("before", "meanwhile"));
  EXPECT_THAT(sent(second), ElementsAre("a new flow"));
  from_endpoint(to(first), "answer");
  EXPECT_THAT(reactor_.answers, ElementsAre(DatagramReactor::Answer{client, our_address, "answer"}));
}

TEST_F(DatagramsTest, AListenerOfARefusedChangeServesNobodyElse) {
  routes::Model moved = model();
  moved.listeners.front().bind = address("192.0.2.2:53");
  apply(moved);
  EXPECT_THAT(worker_->prepare(configuration(model())), testing::IsEmpty());
  from_client("nobody has asked for that yet");
  worker_->abandon();
  EXPECT_THAT(reactor_.to(first), testing::IsEmpty());
  EXPECT_EQ(worker_->collect().datagrams.flows, 0u);
}

}  // namespace
}  // namespace ebb::gate
