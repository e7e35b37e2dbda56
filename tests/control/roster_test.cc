// What is asked for at run time, beside what the provider lists.
#include "control/roster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace ebb::control {
namespace {

using lifecycle::Membership;
using lifecycle::Wish;
using routes::EndpointState;
using testing::ElementsAre;
using testing::IsEmpty;

base::Address address(const char* text) { return *base::Address::parse(text); }

routes::BackendModel backend(std::string name, std::vector<routes::EndpointModel> endpoints) {
  routes::BackendModel model;
  model.name = std::move(name);
  model.endpoints = std::move(endpoints);
  return model;
}

// "name@address*weight wish", with the membership where it is not `present`.
std::string text(const gate::ListedEndpoint& endpoint) {
  std::string out = endpoint.name + "@" + endpoint.address.text() + "*" + std::to_string(endpoint.weight) + " " +
                    std::string(lifecycle::wish_names[static_cast<std::size_t>(endpoint.wish)]);
  if (endpoint.membership == Membership::leaving) out += " leaving";
  return out;
}

std::vector<std::string> texts(const SharedEndpointList& list) {
  std::vector<std::string> out;
  for (const gate::ListedEndpoint& endpoint : list->endpoints) out.push_back(text(endpoint));
  return out;
}

class RosterTest : public testing::Test {
 protected:
  RosterTest() : roster_(labels_, [this](SharedEndpointList list) { published_.push_back(std::move(list)); }) {}

  std::shared_ptr<const routes::Snapshot> compile(std::vector<routes::BackendModel> backends) {
    routes::Model model;
    model.listeners.push_back({.name = "web", .bind = address("127.0.0.1:80")});
    model.backends = std::move(backends);
    std::shared_ptr<const routes::Snapshot> snapshot;
    for (const routes::Refusal& refusal : routes::Snapshot::compile(std::move(model), 1, labels_, snapshot)) {
      ADD_FAILURE() << refusal.key << ": " << refusal.reason;
    }
    return snapshot;
  }
  void adopt(std::vector<routes::BackendModel> backends) {
    const auto snapshot = compile(std::move(backends));
    Roster::Adoption adoption = roster_.adopt(*snapshot);
    adoption.keep();
  }
  void adopt_api(EndpointState state = EndpointState::ready, std::uint32_t weight = 1, const char* at = "10.0.0.1:80") {
    adopt({backend("api", {{.name = "a", .address = address(at), .weight = weight, .state = state},
                           {.name = "b", .address = address("10.0.0.2:80")}})});
  }
  std::vector<std::string> api() { return texts(roster_.list("api")); }
  gate::ListedEndpoint fresh(const char* name, const char* at, Wish wish = Wish::maint) {
    return {.name = name, .address = address(at), .wish = wish};
  }

  base::Labels labels_;
  std::vector<SharedEndpointList> published_;
  Roster roster_;
};

TEST_F(RosterTest, ListsWhatTheProviderLists) {
  adopt({backend("api", {{.name = "a", .address = address("10.0.0.1:80"), .weight = 3, .state = EndpointState::leaving},
                         {.name = "b", .address = address("10.0.0.2:80"), .state = EndpointState::drain}}),
         backend("empty", {})});
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*3 ready leaving", "b@10.0.0.2:80*1 drain"));
  EXPECT_THAT(texts(roster_.list("empty")), IsEmpty());
  EXPECT_EQ(roster_.list("other"), nullptr);
  EXPECT_EQ(roster_.lists().size(), 2u);
  EXPECT_THAT(published_, IsEmpty());
}

TEST_F(RosterTest, PublishesTheOneListThatAChangeTouches) {
  adopt({backend("api", {{.name = "a", .address = address("10.0.0.1:80")}}),
         backend("web", {{.name = "a", .address = address("10.0.0.1:80")}})});
  const SharedEndpointList web = roster_.list("web");
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  ASSERT_TRUE(roster_.set_weight("api", "a", 7));
  ASSERT_EQ(published_.size(), 2u);
  EXPECT_THAT(texts(published_[0]), ElementsAre("a@10.0.0.1:80*1 drain"));
  EXPECT_THAT(texts(published_[1]), ElementsAre("a@10.0.0.1:80*7 drain"));
  EXPECT_EQ(published_[1]->backend, "api");
  EXPECT_EQ(roster_.list("web"), web);
}

TEST_F(RosterTest, RefusesWhatItDoesNotKnow) {
  adopt_api();
  EXPECT_EQ(roster_.set_wish("none", "a", Wish::drain).error(), RosterRefusal::no_backend);
  EXPECT_EQ(roster_.set_weight("api", "z", 1).error(), RosterRefusal::no_endpoint);
  EXPECT_EQ(roster_.remove("api", "z").error(), RosterRefusal::no_endpoint);
  EXPECT_EQ(roster_.find("none", "a").error(), RosterRefusal::no_backend);
  EXPECT_EQ(roster_.add("none", fresh("c", "10.0.0.3:80")).error(), RosterRefusal::no_backend);
  EXPECT_EQ(roster_.add("api", fresh("a", "10.0.0.3:80")).error(), RosterRefusal::name_taken);
  EXPECT_THAT(published_, IsEmpty());
}

TEST_F(RosterTest, KeepsAWishOverSnapshotsThatSayTheSame) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 drain", "b@10.0.0.2:80*1 ready"));
  adopt_api(EndpointState::ready, 5);  // another weight is no other state
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*5 drain", "b@10.0.0.2:80*1 ready"));
}

TEST_F(RosterTest, ForgetsAWishWhenTheFileChangesItsState) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  adopt_api(EndpointState::maint);
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::maint);
  adopt_api();
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::ready);
}

TEST_F(RosterTest, ForgetsAWishWhenTheEndpointLeaves) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  adopt({backend("api", {{.name = "b", .address = address("10.0.0.2:80")}})});
  adopt_api();
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::ready);
}

TEST_F(RosterTest, AnotherAddressInTheFileIsAnotherEndpoint) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  adopt_api(EndpointState::ready, 1, "10.0.0.9:80");
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.9:80*1 ready", "b@10.0.0.2:80*1 ready"));
}

TEST_F(RosterTest, AWishMayOverruleTheFile) {
  adopt_api(EndpointState::drain);
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::ready));
  adopt_api(EndpointState::drain);
  EXPECT_EQ(roster_.find("api", "a")->wish, Wish::ready);
}

TEST_F(RosterTest, ReadyEndsALeaveThatWasAskedForAtRunTimeOnly) {
  adopt_api();
  ASSERT_TRUE(roster_.set_leaving("api", "a", true));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 ready leaving", "b@10.0.0.2:80*1 ready"));
  EXPECT_EQ(roster_.set_wish("api", "a", Wish::drain)->membership, Membership::leaving);
  EXPECT_EQ(roster_.set_wish("api", "a", Wish::ready)->membership, Membership::present);
  adopt_api(EndpointState::leaving);
  EXPECT_EQ(roster_.set_wish("api", "a", Wish::ready)->membership, Membership::leaving);
}

TEST_F(RosterTest, KeepsAWeightUntilTheFileGivesAnother) {
  adopt_api(EndpointState::ready, 2);
  ASSERT_TRUE(roster_.set_weight("api", "a", 9));
  adopt_api(EndpointState::drain, 2);  // its state ends a wish, not a weight
  EXPECT_EQ(roster_.find("api", "a")->weight, 9u);
  EXPECT_EQ(roster_.initial_weight("api", "a"), 2u);
  adopt_api(EndpointState::drain, 3);
  EXPECT_EQ(roster_.find("api", "a")->weight, 3u);
}

TEST_F(RosterTest, AnAddressOfRunTimeChangesTheIdentity) {
  adopt_api();
  const std::uint64_t before = roster_.find("api", "a")->identity;
  const auto moved = roster_.set_address("api", "a", address("10.0.0.7:8080"));
  ASSERT_TRUE(moved);
  EXPECT_EQ(moved->identity, routes::endpoint_identity("api", "a", address("10.0.0.7:8080")));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.7:8080*1 ready", "b@10.0.0.2:80*1 ready"));
  EXPECT_EQ(roster_.set_address("api", "a", address("10.0.0.1:80"))->identity, before);
}

TEST_F(RosterTest, AddedEndpointsStayUntilTheyAreRemoved) {
  adopt_api();
  const auto added = roster_.add("api", fresh("c", "10.0.0.3:80"));
  ASSERT_TRUE(added);
  EXPECT_EQ(added->identity, routes::endpoint_identity("api", "c", address("10.0.0.3:80")));
  EXPECT_EQ(labels_.text(added->label), "c");
  ASSERT_TRUE(roster_.set_wish("api", "c", Wish::ready));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 ready", "b@10.0.0.2:80*1 ready", "c@10.0.0.3:80*1 ready"));
  EXPECT_EQ(roster_.remove("api", "c").error(), RosterRefusal::not_in_maintenance);
  ASSERT_TRUE(roster_.set_wish("api", "c", Wish::maint));
  ASSERT_TRUE(roster_.remove("api", "c"));
  EXPECT_EQ(roster_.find("api", "c").error(), RosterRefusal::no_endpoint);
}

TEST_F(RosterTest, AddedEndpointsGoWithTheirBackend) {
  adopt_api();
  ASSERT_TRUE(roster_.add("api", fresh("c", "10.0.0.3:80")));
  adopt({backend("other", {})});
  adopt_api();
  EXPECT_EQ(roster_.find("api", "c").error(), RosterRefusal::no_endpoint);
}

TEST_F(RosterTest, TheFileTakesOverANameThatWasAdded) {
  adopt_api();
  ASSERT_TRUE(roster_.add("api", fresh("c", "10.0.0.3:80")));
  adopt({backend("api", {{.name = "c", .address = address("10.0.0.4:80")}})});
  EXPECT_THAT(api(), ElementsAre("c@10.0.0.4:80*1 ready"));
}

TEST_F(RosterTest, ARemovedEndpointStaysAwayUntilTheFileChangesIt) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::maint));
  ASSERT_TRUE(roster_.remove("api", "a"));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("b@10.0.0.2:80*1 ready"));
  ASSERT_TRUE(roster_.add("api", fresh("a", "10.0.0.5:80", Wish::ready)));
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("b@10.0.0.2:80*1 ready", "a@10.0.0.5:80*1 ready"));
  adopt_api(EndpointState::leaving);
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 ready leaving", "b@10.0.0.2:80*1 ready"));
}

TEST_F(RosterTest, AnAdoptionThatIsNotKeptChangesNothing) {
  adopt_api();
  ASSERT_TRUE(roster_.set_wish("api", "a", Wish::drain));
  {
    const auto snapshot = compile({backend("api", {})});
    const Roster::Adoption adoption = roster_.adopt(*snapshot);
    EXPECT_THAT(texts(adoption.lists()[0]), IsEmpty());
  }
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 drain", "b@10.0.0.2:80*1 ready"));
}

TEST_F(RosterTest, HoldsSoManyAddedEndpointsAndNoMore) {
  std::vector<routes::BackendModel> backends;
  for (int i = 0; i < 100; ++i) backends.push_back(backend("b" + std::to_string(i), {}));
  adopt(std::move(backends));
  for (std::size_t i = 0; i < Roster::added_max; ++i) {
    gate::ListedEndpoint endpoint = fresh("", "10.0.0.3:80");
    endpoint.name = "n" + std::to_string(i / 100);
    ASSERT_TRUE(roster_.add("b" + std::to_string(i % 100), endpoint));
  }
  EXPECT_EQ(roster_.add("b0", fresh("c", "10.0.0.3:80")).error(), RosterRefusal::too_many);
  ASSERT_TRUE(roster_.remove("b7", "n0"));
  EXPECT_TRUE(roster_.add("b0", fresh("c", "10.0.0.3:80")));
}

// A change that is made while a snapshot is on its way waits for it, so that its list is made from the new one.
TEST_F(RosterTest, ChangesWaitForAnAdoption) {
  adopt_api();
  const auto snapshot = compile({backend("api", {{.name = "a", .address = address("10.0.0.1:80"), .weight = 8}})});
  std::atomic<bool> changed = false;
  std::thread operator_thread;
  {
    Roster::Adoption adoption = roster_.adopt(*snapshot);
    operator_thread = std::thread([&] {
      EXPECT_TRUE(roster_.set_wish("api", "a", Wish::drain));
      changed = true;
    });
    EXPECT_FALSE(changed);
    adoption.keep();
  }
  operator_thread.join();
  ASSERT_EQ(published_.size(), 1u);
  EXPECT_THAT(texts(published_[0]), ElementsAre("a@10.0.0.1:80*8 drain"));
}

gate::EndpointList provided(const char* at) {
  return {.backend = "api", .endpoints = {{.name = "pod", .address = address(at)}}};
}

TEST_F(RosterTest, TakesTheListOfAProviderApartFromSnapshots) {
  adopt({backend("api", {})});
  ASSERT_TRUE(roster_.provide(provided("10.0.1.1:80")));
  ASSERT_EQ(published_.size(), 1u);
  EXPECT_THAT(texts(published_[0]), ElementsAre("pod@10.0.1.1:80*1 ready"));
  EXPECT_EQ(published_[0]->endpoints[0].identity,
            routes::endpoint_identity("api", "pod", published_[0]->endpoints[0].address));
  adopt({backend("api", {})});
  EXPECT_THAT(api(), ElementsAre("pod@10.0.1.1:80*1 ready")) << "the next snapshot keeps it";
  adopt_api();
  EXPECT_THAT(api(), ElementsAre("a@10.0.0.1:80*1 ready", "b@10.0.0.2:80*1 ready")) << "the model lists endpoints";
}

TEST_F(RosterTest, KeepsWishesWhileAProviderListsTheEndpoint) {
  adopt({backend("api", {})});
  ASSERT_TRUE(roster_.provide(provided("10.0.1.1:80")));
  ASSERT_TRUE(roster_.set_wish("api", "pod", Wish::drain));
  ASSERT_TRUE(roster_.add("api", fresh("c", "10.0.0.3:80")));
  ASSERT_TRUE(roster_.provide(provided("10.0.1.1:80")));
  EXPECT_THAT(api(), ElementsAre("pod@10.0.1.1:80*1 drain", "c@10.0.0.3:80*1 maint"));
  ASSERT_TRUE(roster_.provide(provided("10.0.1.2:80")));  // another endpoint
  EXPECT_THAT(api(), ElementsAre("pod@10.0.1.2:80*1 ready", "c@10.0.0.3:80*1 maint"));
}

TEST_F(RosterTest, RefusesAProvidedListWhereTheModelListsEndpoints) {
  adopt_api();
  EXPECT_FALSE(roster_.provide(provided("10.0.1.1:80")));
  EXPECT_FALSE(roster_.provide({.backend = "none", .endpoints = {}}));
  EXPECT_THAT(published_, IsEmpty());
}

}  // namespace
}  // namespace ebb::control
