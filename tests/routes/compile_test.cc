#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Compile : public testing::Test {
 protected:
  std::vector<std::string> refused_keys() {
    std::vector<std::string> keys;
    snapshot_ = nullptr;
    for (const Refusal& refusal : Snapshot::compile(model_, 7, labels_, snapshot_)) {
      EXPECT_FALSE(refusal.reason.empty());
      EXPECT_FALSE(refusal.remedy.empty());
      keys.push_back(refusal.key);
    }
    EXPECT_EQ(snapshot_ == nullptr, !keys.empty());
    return keys;
  }

  Model model_ = small_model();
  base::Labels labels_;
  std::shared_ptr<const Snapshot> snapshot_;
};

TEST_F(Compile, GivesGenerationLabelsAndIndices) {
  model_.backends.push_back(backend("api"));
  model_.routes.push_back(route("api.test", "/v1", "api"));
  ASSERT_THAT(refused_keys(), IsEmpty());
  EXPECT_EQ(snapshot_->generation(), 7u);
  const Route* found = snapshot_->match({.authority = "api.test", .path = "/v1"});
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(labels_.text(found->label), "api.test/v1");
  EXPECT_EQ(snapshot_->backends()[found->backend].model.name, "api");
  EXPECT_EQ(labels_.text(snapshot_->listeners()[0].label), "http");
  EXPECT_EQ(labels_.text(snapshot_->backends()[1].endpoints[0].label), "a");
}

TEST_F(Compile, TellsTheCanaryAndNobodyElseWhichItIs) {
  model_.digest = "beef";
  model_.backends.push_back(backend("canary"));
  model_.routes.push_back(route("canary.test", "", "canary"));
  model_.canary.emplace().backends = {"canary"};
  model_.canary->ports = {9000, 9001};
  ASSERT_THAT(refused_keys(), IsEmpty());
  const Route* walked = snapshot_->match({.authority = "canary.test", .path = "/"});
  ASSERT_NE(walked->policy, nullptr);
  ASSERT_NE(walked->policy->mark, nullptr);
  EXPECT_EQ(walked->policy->mark->generation, "7");
  EXPECT_EQ(walked->policy->mark->digest, "beef");
  EXPECT_EQ(snapshot_->match({.authority = "any", .path = "/"})->policy, nullptr);
}

TEST_F(Compile, AcceptsAnEmptyModelAndABackendWithoutEndpoints) {
  model_ = {};
  EXPECT_THAT(refused_keys(), IsEmpty());
  EXPECT_EQ(snapshot_->match({.authority = "any", .path = "/"}), nullptr);
  model_.backends.push_back({.name = "later"});
  EXPECT_THAT(refused_keys(), IsEmpty());
}

TEST_F(Compile, KeepsTheIdentityOfAnEndpointUntilNameOrAddressChange) {
  const auto identity = [this] {
    EXPECT_THAT(refused_keys(), IsEmpty());
    return snapshot_->backends()[0].endpoints[0].identity;
  };
  const std::uint64_t before = identity();
  EndpointModel& endpoint = model_.backends[0].endpoints[0];
  endpoint.weight = 7;
  endpoint.state = EndpointState::drain;
  EXPECT_EQ(identity(), before);
  endpoint.address = *base::Address::parse("127.0.0.1:9001");
  EXPECT_NE(identity(), before);
  endpoint.address = *base::Address::parse("127.0.0.1:9000");
  endpoint.name = "b";
  EXPECT_NE(identity(), before);
  endpoint.name = "a";
  EXPECT_EQ(identity(), before);
  model_.backends[0].name = model_.routes[0].backend = "weba";
  EXPECT_NE(identity(), before);
}

TEST_F(Compile, RefusesDuplicateNames) {
  model_.listeners.push_back(listener("http", "127.0.0.1:8081"));
  model_.backends.push_back(backend("web"));
  model_.backends[0].endpoints.push_back(model_.backends[0].endpoints[0]);
  model_.routes.push_back(route("a.test", ""));
  model_.routes.push_back(route("b.test", ""));
  model_.routes[1].name = model_.routes[2].name = "same";
  EXPECT_THAT(refused_keys(),
              ElementsAre("listeners[1].name", "routes[2].name", "backends[0].endpoints[1].name", "backends[1].name"));
}

TEST_F(Compile, RefusesNamesThatNeedEscaping) {
  for (const std::string name : {"", "a b", "a\"b", "a\\b", "a\nb", "\xc3\xa4"}) {
    model_.listeners[0].name = name;
    EXPECT_THAT(refused_keys(), ElementsAre("listeners[0].name")) << name;
  }
}

TEST_F(Compile, RefusesTwoRoutesForTheSameHostAndPath) {
  model_.routes = {route("a.test", "/x"), route("A.test.", "/x/"), route("*", "/"), route("", "")};
  EXPECT_THAT(refused_keys(), ElementsAre("routes[1].path", "routes[3].path"));
}

TEST_F(Compile, RefusesADerivedRouteNameThatIsTaken) {
  model_.routes.push_back(route("a.test", "/x"));
  model_.routes[0].name = "a.test/x";
  EXPECT_THAT(refused_keys(), ElementsAre("routes[1]"));
}

TEST_F(Compile, RefusesAnUnknownBackend) {
  model_.routes.push_back(route("a.test", "/x", "wbe"));
  EXPECT_THAT(refused_keys(), ElementsAre("routes[1].backend"));
}

TEST_F(Compile, RefusesWhatIsNotAHost) {
  for (const char* host : {"a..b", ".a", "a b", "a/b", "a:80", "*a.test", "a.*.test", "*.", "*.*", "**", "-a.test",
                           "a-.test", "[::1", "[::1]:80", "[zz]", "*.[::1]", "b\xc3\xbc.test"}) {
    model_.routes[0].host = host;
    EXPECT_THAT(refused_keys(), ElementsAre("routes[0].host")) << host;
  }
  model_.routes[0].host = std::string(64, 'a') + ".test";
  EXPECT_THAT(refused_keys(), ElementsAre("routes[0].host"));
  for (const char* host :
       {"", "*", "a", "a.test.", "*.a.test", "a_b.test", "xn--bcher-kva.test", "10.0.0.1", "[::1]"}) {
    model_.routes[0].host = host;
    EXPECT_THAT(refused_keys(), IsEmpty()) << host;
  }
}

TEST_F(Compile, RefusesWhatIsNotAPath) {
  for (const char* path : {"api", "/a?b", "/a#b", "/a b", "/a//b", "/a\"b", "*"}) {
    model_.routes[0].path.text = path;
    EXPECT_THAT(refused_keys(), ElementsAre("routes[0].path")) << path;
  }
}

TEST_F(Compile, WantsCertificatesForHttpsAndNoneForHttp) {
  model_.listeners[0].protocol = Protocol::https;
  EXPECT_THAT(refused_keys(), ElementsAre("listeners[0].certificates"));
  model_.listeners[0].certificates.push_back({"a.pem", "a.key"});
  model_.listeners[0].refuse_unknown_names = true;
  EXPECT_THAT(refused_keys(), IsEmpty());
  model_.listeners[0].protocol = Protocol::http;
  EXPECT_THAT(refused_keys(), ElementsAre("listeners[0].certificates", "listeners[0].unknown_names"));
}

TEST_F(Compile, RefusesTwoListenersOnOneAddressUnlessTheKernelPicksThePort) {
  model_.listeners.push_back(listener("second", "127.0.0.1:8080"));
  EXPECT_THAT(refused_keys(), ElementsAre("listeners[1].bind"));
  model_.listeners[0].bind.set_port(0);
  model_.listeners[1].bind.set_port(0);
  EXPECT_THAT(refused_keys(), IsEmpty());
}

TEST_F(Compile, KeepsTheAdminListenerOnLoopbackAndApart) {
  model_.admin.bind = *base::Address::parse("0.0.0.0:9901");
  EXPECT_THAT(refused_keys(), ElementsAre("admin"));
  model_.admin.bind = *base::Address::parse("[::1]:9901");
  EXPECT_THAT(refused_keys(), IsEmpty());
  model_.admin.bind = model_.listeners[0].bind;
  EXPECT_THAT(refused_keys(), ElementsAre("listeners[0].bind"));
  model_.admin.bind = *base::Address::parse("[::1]:9901");
  model_.admin.self_drain = model_.admin.bind;
  EXPECT_THAT(refused_keys(), ElementsAre("admin.self_drain"));
}

TEST_F(Compile, OpensTheAdminListenerToOthersOnlyWithATokenOrCertificates) {
  model_.admin.bind = *base::Address::parse("0.0.0.0:9901");
  model_.admin.token_file = "/token";
  EXPECT_THAT(refused_keys(), IsEmpty());
  model_.admin.token_file = "";
  model_.admin.certificate = "/cert";
  model_.admin.key = "/key";
  EXPECT_THAT(refused_keys(), ElementsAre("admin"));
  model_.admin.client_ca = "/ca";
  EXPECT_THAT(refused_keys(), IsEmpty());
  model_.admin.key = "";
  EXPECT_THAT(refused_keys(), ElementsAre("admin.tls.key"));
  model_.admin.certificate = "";
  EXPECT_THAT(refused_keys(), ElementsAre("admin.tls.client_ca"));
}

TEST_F(Compile, RefusesNumbersOutOfRange) {
  model_.limits.fields = 257;
  model_.limits.head_bytes = 1000;
  model_.limits.target_bytes = 1001;
  model_.backends[0].endpoints[0].weight = 257;
  model_.backends[0].retries = 11;
  EXPECT_THAT(refused_keys(), ElementsAre("limits.head_bytes", "limits.target_bytes", "limits.fields",
                                          "backends[0].retries", "backends[0].endpoints[0].weight"));
}

TEST_F(Compile, RefusesTimeoutsThatAreNotAboveZeroOrAbsurd) {
  model_.timeouts.client_head = Duration::zero();
  model_.timeouts.tunnel_idle = std::chrono::hours{24 * 366};
  model_.routes[0].timeout = Duration{-1};
  model_.backends[0].connect_timeout = Duration::zero();
  EXPECT_THAT(refused_keys(), ElementsAre("timeouts.client_head", "timeouts.tunnel_idle", "routes[0].timeout",
                                          "backends[0].timeouts.connect"));
}

TEST_F(Compile, RefusesAnEndpointWithoutAddressOrPort) {
  model_.backends[0].endpoints[0].address = {};
  EXPECT_THAT(refused_keys(), ElementsAre("backends[0].endpoints[0].address"));
  model_.backends[0].endpoints[0].address = *base::Address::parse("127.0.0.1:0");
  EXPECT_THAT(refused_keys(), ElementsAre("backends[0].endpoints[0].address"));
}

}  // namespace
}  // namespace ebb::routes
