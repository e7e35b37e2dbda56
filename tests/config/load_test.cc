#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/config/refusals.h"
#include "tests/config/temporary_folder.h"

namespace ebb::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Knows one name, so that no test depends on the network.
std::expected<base::Address, std::string> fake_resolve(const std::string& host, std::uint16_t port) {
  if (host != "app.internal") return std::unexpected("unknown name");
  return *base::Address::parse("10.9.9.9:" + std::to_string(port));
}

std::expected<Loaded, Diagnostics> load_it(std::string_view text) { return load_text(text, test_file, fake_resolve); }

Loaded loaded(std::string_view text) {
  auto result = load_it(text);
  if (result) return std::move(*result);
  ADD_FAILURE() << text_of(result.error());
  return {};
}

std::vector<std::string> errors(std::string_view text) { return errors_of(load_it(text)); }

constexpr std::string_view listener = "listeners: [{name: web, bind: \"127.0.0.1:8080\"}]\n";

std::vector<std::string> errors_with_listener(std::string_view text) {
  return errors(std::string(listener) + std::string(text));
}

TEST(Load, ReadsEveryKey) {
  const Loaded all = loaded(R"(
admin: "[::1]:9901"
workers: 3
io: epoll
access_log: {format: common, path: logs/access.log}
timeouts: {tls_handshake: 1s, client_head: 2s, client_idle: 3m, client_body: 4s, client_write: 5s, backend_body: 6s,
           tunnel_idle: 7h}
limits: {head_bytes: 32KiB, target_bytes: 4096, fields: 50, body_bytes: 5GiB, connections: 1000}
listeners:
  - {name: web, bind: "*:8080"}
  - {name: secure, bind: "[::]:8443", protocol: https, unknown_names: refuse,
     certificates: [{cert: certs/a.pem, key: /keys/a.key}]}
routes:
  - {name: api, host: "*.example.com", path: /api, backend: app, timeout: 1500ms}
backends:
  - name: app
    balance: round_robin
    timeouts: {connect: 100ms, response: 2s, idle: 3s}
    keepalive: {idle_per_endpoint: 9, idle_per_endpoint_max: 90}
    retries: 0
    endpoints:
      - {name: a, address: "10.0.0.1:80", weight: 5, state: drain}
      - {address: "app.internal:81"}
)");
  const routes::Model& model = all.model;
  EXPECT_EQ(all.startup.workers, 3u);
  EXPECT_EQ(all.startup.io, Io::epoll);
  EXPECT_EQ(all.startup.admin.bind.text(), "[::1]:9901");
  EXPECT_EQ(model.admin, all.startup.admin);
  EXPECT_EQ(model.access_log.format, routes::LogFormat::common);
  EXPECT_EQ(model.access_log.path, "/etc/ebbgate/logs/access.log");
  EXPECT_EQ(model.timeouts.tls_handshake, std::chrono::seconds{1});
  EXPECT_EQ(model.timeouts.client_head, std::chrono::seconds{2});
  EXPECT_EQ(model.timeouts.client_idle, std::chrono::minutes{3});
  EXPECT_EQ(model.timeouts.client_body, std::chrono::seconds{4});
  EXPECT_EQ(model.timeouts.client_write, std::chrono::seconds{5});
  EXPECT_EQ(model.timeouts.backend_body, std::chrono::seconds{6});
  EXPECT_EQ(model.timeouts.tunnel_idle, std::chrono::hours{7});
  EXPECT_EQ(model.limits.head_bytes, 32768u);
  EXPECT_EQ(model.limits.target_bytes, 4096u);
  EXPECT_EQ(model.limits.fields, 50u);
  EXPECT_EQ(model.limits.body_bytes, std::uint64_t{5} << 30);
  EXPECT_EQ(model.limits.connections, 1000u);
  ASSERT_EQ(model.listeners.size(), 2u);
  EXPECT_EQ(model.listeners[0].bind.text(), "0.0.0.0:8080");
  EXPECT_EQ(model.listeners[0].protocol, routes::Protocol::http);
  EXPECT_FALSE(model.listeners[0].refuse_unknown_names);
  EXPECT_EQ(model.listeners[1].bind.text(), "[::]:8443");
  EXPECT_EQ(model.listeners[1].protocol, routes::Protocol::https);
  EXPECT_TRUE(model.listeners[1].refuse_unknown_names);
  EXPECT_THAT(files_of(model), ElementsAre("/etc/ebbgate/certs/a.pem", "/keys/a.key"));
  ASSERT_EQ(model.routes.size(), 1u);
  EXPECT_EQ(model.routes[0].host, "*.example.com");
  EXPECT_EQ(model.routes[0].timeout, std::chrono::milliseconds{1500});
  ASSERT_EQ(model.backends.size(), 1u);
  const routes::BackendModel& backend = model.backends[0];
  EXPECT_EQ(backend.balance, routes::Balance::round_robin);
  EXPECT_EQ(backend.connect_timeout, std::chrono::milliseconds{100});
  EXPECT_EQ(backend.response_timeout, std::chrono::seconds{2});
  EXPECT_EQ(backend.idle_timeout, std::chrono::seconds{3});
  EXPECT_EQ(backend.idle_per_endpoint, 9u);
  EXPECT_EQ(backend.idle_per_endpoint_max, 90u);
  EXPECT_EQ(backend.retries, 0u);
  ASSERT_EQ(backend.endpoints.size(), 2u);
  EXPECT_EQ(backend.endpoints[0].state, routes::EndpointState::drain);
  EXPECT_EQ(backend.endpoints[0].weight, 5u);
  EXPECT_EQ(backend.endpoints[1].name, "app.internal:81");
  EXPECT_EQ(backend.endpoints[1].address.text(), "10.9.9.9:81");
}

TEST(Load, TakesAnAddressOrAMappingForTheAdminListener) {
  const Loaded all = loaded(R"(
listeners: []
admin:
  bind: "*:9901"
  token_file: token
  tls: {cert: admin.pem, key: admin.key, client_ca: ca.pem}
  self_drain: "*:9902"
runtime: run/ebbgate.sock
)");
  const routes::AdminModel& admin = all.startup.admin;
  EXPECT_EQ(admin.bind.text(), "0.0.0.0:9901");
  EXPECT_EQ(admin.token_file, "/etc/ebbgate/token");
  EXPECT_EQ(admin.certificate, "/etc/ebbgate/admin.pem");
  EXPECT_EQ(admin.key, "/etc/ebbgate/admin.key");
  EXPECT_EQ(admin.client_ca, "/etc/ebbgate/ca.pem");
  EXPECT_EQ(admin.self_drain.text(), "0.0.0.0:9902");
  EXPECT_EQ(all.startup.runtime, "/etc/ebbgate/run/ebbgate.sock");
}

TEST(Load, TakesDefaultsForWhatIsNotGiven) {
  const Loaded small = loaded("listeners: []\nroutes:\nlimits:\n");
  EXPECT_EQ(small.startup.workers, 0u);
  EXPECT_EQ(small.startup.io, Io::automatic);
  EXPECT_FALSE(small.model.admin.bind.valid());
  EXPECT_EQ(small.startup.runtime, "");
  EXPECT_EQ(small.model.limits.head_bytes, routes::Limits{}.head_bytes);
  EXPECT_EQ(small.model.timeouts.client_idle, routes::Timeouts{}.client_idle);
}

TEST(Load, SuggestsTheKeyThatWasMeant) {
  EXPECT_THAT(errors_with_listener("rotues: []\n"),
              ElementsAre("2:1: rotues: there is no such key; did you mean `routes`?"));
  EXPECT_THAT(errors("listeners: [{name: a, bnid: \":80\", bind: \":80\"}]"),
              ElementsAre("1:23: listeners[0].bnid: there is no such key; did you mean `bind`?"));
  EXPECT_THAT(
      errors_with_listener("timeouts: {qqq: 1s}\n"),
      ElementsAre(HasSubstr("2:12: timeouts.qqq: there is no such key; known are `tls_handshake`, `client_head`")));
}

TEST(Load, RefusesAPathThatIsTooLongForASocket) {
  EXPECT_THAT(
      errors_with_listener("runtime: /run/" + std::string(200, 'x') + "\n"),
      ElementsAre(HasSubstr("2:10: runtime: the path is too long for a unix socket; give one of at most 105 bytes")));
}

TEST(Load, DoesNotKnowKeysOfLaterSteps) {
  EXPECT_THAT(errors_with_listener("kubernetes: {}\n"), ElementsAre(HasSubstr("kubernetes: there is no such key")));
}

TEST(Load, RefusesAKeyThatIsGivenTwice) {
  EXPECT_THAT(errors_with_listener("io: epoll\nworkers: 1\nio: uring\n"),
              ElementsAre("4:1: io: the key is already in line 2; remove one of the two"));
}

TEST(Load, SaysWhatIsMissing) {
  EXPECT_THAT(errors(""), ElementsAre("1:1: the key `listeners` is missing; add `listeners: ...` (list)"));
  EXPECT_THAT(errors("listeners:\n  - name: web\n"),
              ElementsAre("2:5: listeners[0]: the key `bind` is missing; add `bind: ...` (address)"));
}

TEST(Load, SaysWhatWasExpectedAndWhatWasFound) {
  EXPECT_THAT(errors("listeners: {name: web}\n"),
              ElementsAre("1:12: listeners: expected a list, found a mapping; begin each element with `- `"));
  EXPECT_THAT(errors("listeners: [web]\n"), ElementsAre(HasSubstr("listeners[0]: expected a mapping, found \"web\"")));
  EXPECT_THAT(errors_with_listener("timeouts: {client_head: [1]}\n"),
              ElementsAre(HasSubstr("timeouts.client_head: expected duration, found a list")));
  EXPECT_THAT(errors_with_listener("io: \n"),
              ElementsAre(HasSubstr("io: expected `auto`, `uring`, `epoll`, found nothing")));
  EXPECT_THAT(errors_with_listener("limits: {fields: many}\n"),
              ElementsAre(HasSubstr("2:18: limits.fields: expected a number, found \"many\"; give a whole number")));
  EXPECT_THAT(errors_with_listener("io: epol\n"), ElementsAre(HasSubstr("found \"epol\"; did you mean `epoll`?")));
}

TEST(Load, AsksForTheUnitOfADuration) {
  EXPECT_THAT(errors_with_listener("timeouts: {client_head: 5}\n"),
              ElementsAre("2:25: timeouts.client_head: expected a duration, found \"5\"; add the unit: 5s for seconds, "
                          "5ms for milliseconds"));
}

TEST(Load, ReportsAllErrorsAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(errors("wrokers: 2\n"
                     "listeners:\n"
                     "  - {name: web, bind: here}\n"
                     "  - {name: tls, bind: \"*:443\", protocol: https}\n"
                     "routes:\n"
                     "  - {host: \"a b\", backend: app}\n"
                     "  - {path: /x, backend: app, timeout: 10}\n"
                     "backends:\n"
                     "  - {name: app, endpoints: [{address: nowhere:80}, {address: \"10.0.0.1:1\", weight: 300}]}\n"),
              ElementsAre(HasSubstr("1:1: wrokers"), HasSubstr("3:23: listeners[0].bind"),
                          HasSubstr("4:5: listeners[1].certificates"), HasSubstr("6:12: routes[0].host"),
                          HasSubstr("7:39: routes[1].timeout"), HasSubstr("9:39: backends[0].endpoints[0].address"),
                          HasSubstr("backends[0].endpoints[1].weight")));
}

TEST(Load, DoesNotBlameRoutesForABackendThatWasMisspelt) {
  EXPECT_THAT(errors_with_listener("routes: [{backend: app}]\nbakends: [{name: app}]\n"),
              ElementsAre("3:1: bakends: there is no such key; did you mean `backends`?"));
}

TEST(Load, FindsThePlaceOfWhatTheWholeRefuses) {
  EXPECT_THAT(
      errors_with_listener("routes:\n  - path: /a\n    backend: nobody\n"),
      ElementsAre("4:14: routes[0].backend: there is no backend \"nobody\"; name one of the backends, or add it"));
  EXPECT_THAT(errors_with_listener("admin: 10.0.0.1:9901\n"),
              ElementsAre(testing::AllOf(HasSubstr("2:8: admin: 10.0.0.1:9901 can be reached from other machines"),
                                         HasSubstr("use a loopback address"))));
}

TEST(Load, SuggestsTheBackendThatWasMeant) {
  EXPECT_THAT(errors_with_listener("routes: [{backend: shp}]\nbackends: [{name: shop}, {name: api}]\n"),
              ElementsAre("2:20: routes[0].backend: there is no backend \"shp\"; did you mean `shop`?"));
}

TEST(Load, StopsAtSyntaxErrorsWithTheirPlace) {
  EXPECT_THAT(errors("listeners: [\n"), ElementsAre(HasSubstr("not valid YAML")));
  EXPECT_THAT(errors("a: b: c\n"), ElementsAre(testing::StartsWith("1:5: not valid YAML")));
  EXPECT_THAT(errors_with_listener("routes: [{host: *.example.com, backend: a}]\n"),
              ElementsAre(HasSubstr("put quotes around a value that begins with *")));
  EXPECT_THAT(errors("listeners: []\n---\nlisteners: []\n"), ElementsAre(HasSubstr("more than one document")));
}

TEST(Load, FindsThePlaceOfBytesThatAreNoText) {
  EXPECT_THAT(errors("listeners: []\nio: \"\xff\"\n"), ElementsAre(testing::StartsWith("2:6: not valid YAML: ")));
  EXPECT_THAT(errors("\xff"), ElementsAre(testing::StartsWith("1:1: not valid YAML: ")));
}

TEST(Load, TakesTheWordsForNothingAsNothing) {
  loaded("listeners: ~\nroutes: null\nlimits:\n");
  EXPECT_THAT(errors_with_listener("io: ~\n"), ElementsAre(HasSubstr("found nothing")));
  EXPECT_THAT(errors_with_listener("io: \"null\"\n"), ElementsAre(HasSubstr("found \"null\"")));
  EXPECT_THAT(errors_with_listener("io: ''\n"), ElementsAre(HasSubstr("found \"\"")));
}

TEST(Load, RefusesTagsOfOthers) {
  loaded("listeners: !!seq []\nio: !!str epoll\n");
  EXPECT_THAT(errors("listeners: !mine []\n"),
              ElementsAre(HasSubstr("1:12: not valid YAML: tags such as \"!mine\" have no meaning here")));
}

TEST(Load, UnfoldsAliases) {
  const Loaded shared = loaded(std::string(listener) +
                               "backends:\n"
                               "  - {name: a, timeouts: &quick {connect: 100ms}}\n"
                               "  - {name: b, timeouts: *quick}\n");
  EXPECT_EQ(shared.model.backends[1].connect_timeout, std::chrono::milliseconds{100});
}

TEST(Load, RefusesAliasesThatUnfoldWithoutBound) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_THAT(errors(bomb), ElementsAre(HasSubstr("unfolds to more than 256 MiB")));
  EXPECT_THAT(errors("a: &a [*a]\n"), ElementsAre(HasSubstr("names a node that it is a part of")));
  EXPECT_THAT(errors("a: *b\n"), ElementsAre(HasSubstr("names a node that is not there; put quotes around")));
}

TEST(Load, RefusesDepthAndSizeWithoutBound) {
  EXPECT_THAT(errors(std::string(100, '[')), ElementsAre(HasSubstr("deeper than 16 levels")));
  std::string chain = "a0: &a0 [[[[[[[[x]]]]]]]]\n";
  for (int i = 1; i < 5; ++i) chain += "a: &a" + std::to_string(i) + " [[[*a" + std::to_string(i - 1) + "]]]\n";
  EXPECT_THAT(errors(chain), ElementsAre(HasSubstr("deeper than 16 levels")));
  EXPECT_THAT(errors(std::string((16 << 20) + 1, '#')), ElementsAre(HasSubstr("larger than 16 MiB")));
}

TEST(Load, BoundsTheNumberAndTheLengthOfMessages) {
  std::string text(listener);
  for (int i = 0; i < 1000; ++i) text += "k" + std::to_string(i) + ": 1\n";
  const auto all = errors(text);
  ASSERT_EQ(all.size(), 201u);
  EXPECT_THAT(all.back(), HasSubstr("800 more errors"));
  EXPECT_LT(errors_with_listener("io: \"" + std::string(100'000, 'x') + "\"\n").at(0).size(), 1000u);
  EXPECT_THAT(errors_with_listener("\"a\\nb\\e[1m\": 1\n"), ElementsAre(HasSubstr("a?b?[1m: ")));
}

TEST(Load, ReadsAFileAndSaysWhenItCannot) {
  const TemporaryFolder folder;
  write_file(folder / "gate.yaml", listener);
  EXPECT_TRUE(load(folder / "gate.yaml"));
  const auto missing = load(folder / "none.yaml");
  ASSERT_FALSE(missing);
  EXPECT_THAT(text_of(missing.error()), HasSubstr("none.yaml: cannot be read: No such file or directory; "));
  const auto not_a_file = load(folder.path().string());
  ASSERT_FALSE(not_a_file);
  EXPECT_THAT(text_of(not_a_file.error()), HasSubstr("is not a regular file"));
}

TEST(Load, ResolvesLocalhostBySystem) {
  const auto resolved = resolve_by_system("localhost", 80);
  ASSERT_TRUE(resolved) << resolved.error();
  EXPECT_TRUE(resolved->is_loopback());
  EXPECT_EQ(resolved->port(), 80);
}

TEST(Startup, ChangesAreReportedAsNeedingARestart) {
  const Startup running = loaded("listeners: []\n").startup;
  EXPECT_THAT(needs_restart(running, running), IsEmpty());
  const Startup wanted = loaded("listeners: []\nworkers: 4\nio: epoll\nadmin: 127.0.0.1:1\nruntime: /s\n").startup;
  EXPECT_THAT(needs_restart(running, wanted),
              ElementsAre("workers: needs a restart to become 4; this process goes on with auto",
                          "io: needs a restart to become epoll; this process goes on with auto",
                          "admin: needs a restart to become 127.0.0.1:1; this process goes on with none",
                          "runtime: needs a restart to become /s; this process goes on with none"));
}

}  // namespace
}  // namespace ebb::config
