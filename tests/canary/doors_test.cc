#include "canary/doors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ebb::canary {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

routes::ListenerModel listener(std::string name, routes::Protocol protocol, const char* bind) {
  routes::ListenerModel model;
  model.name = std::move(name);
  model.protocol = protocol;
  model.bind = *base::Address::parse(bind);
  return model;
}

routes::RouteModel route(std::string host, std::string backend, routes::TlsMode tls = routes::TlsMode::edge) {
  routes::RouteModel model;
  model.host = std::move(host);
  model.backend = std::move(backend);
  model.tls = tls;
  return model;
}

class Doors : public testing::Test {
 protected:
  Doors() {
    model_.listeners = {listener("web", routes::Protocol::http, "0.0.0.0:8080"),
                        listener("secure", routes::Protocol::https, "[::]:8443")};
    model_.routes = {route("shop.test", "shop"), route("canary.test", "canary"),
                     route("re.canary.test", "canary-tls", routes::TlsMode::reencrypt),
                     route("raw.canary.test", "canary", routes::TlsMode::passthrough)};
    model_.canary.emplace().backends = {"canary", "canary-tls"};
  }
  std::vector<std::string> doors() const {
    std::vector<std::string> texts;
    for (const Door& door : doors_of(model_)) {
      texts.push_back(door.replica + " " + std::string(name(door.kind)) + " " + door.host + " " +
                      std::to_string(door.port) + " " + door.authority + door.path);
    }
    return texts;
  }

  routes::Model model_;
};

TEST_F(Doors, LeadToEveryKindOfRouteThroughTheListenersThatServeIt) {
  EXPECT_THAT(doors(),
              ElementsAre("self plain 127.0.0.1 8080 canary.test/", "self edge ::1 8443 canary.test/",
                          "self reencrypt ::1 8443 re.canary.test/", "self passthrough ::1 8443 raw.canary.test/"));
}

TEST_F(Doors, AreNoneWithoutACanary) {
  model_.canary.reset();
  EXPECT_THAT(doors(), IsEmpty());
}

TEST_F(Doors, OfAReplicaAreAtItsAddressAndMayLeadToEitherPort) {
  model_.canary->replicas = {{"b", "10.0.0.2"}};
  const std::vector<Door> all = doors_of(model_);
  ASSERT_EQ(all.size(), 8u);
  EXPECT_TRUE(all[0].own);
  EXPECT_EQ(all[4].replica, "b");
  EXPECT_EQ(all[4].host, "10.0.0.2");
  EXPECT_EQ(all[4].port, 8080);
  EXPECT_FALSE(all[4].own);
}

TEST_F(Doors, HeedTheRoutesListenersAndPath) {
  model_.routes = {route("canary.test", "canary")};
  model_.routes[0].conditions.make().listeners = {"secure"};
  model_.routes[0].path.text = "/health";
  EXPECT_THAT(doors(), ElementsAre("self edge ::1 8443 canary.test/health"));
}

TEST_F(Doors, DoNotStandWhereAProbeCouldNotPass) {
  model_.listeners[0].bind.set_port(0);  // which port it will be is not known
  model_.listeners[1].client_certificates.mode = routes::ClientCertificates::required;
  EXPECT_THAT(doors(), ElementsAre("self passthrough ::1 8443 raw.canary.test/"));
}

TEST_F(Doors, SpeakHttp2OnlyWhereTheListenerDoes) {
  model_.listeners[1].http2 = false;
  for (const Door& door : doors_of(model_)) {
    if (door.kind == Kind::plain || door.kind == Kind::passthrough) {
      EXPECT_THAT(door.protocols, Contains(Protocol::h2));
    } else {
      EXPECT_THAT(door.protocols, Not(Contains(Protocol::h2)));
    }
  }
}

}  // namespace
}  // namespace ebb::canary
