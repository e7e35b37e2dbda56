// What is refused of conditions, policies, TLS modes and protocols. Names, hosts, paths and time-outs: compile_test.
#include "routes/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/routes/model_builder.h"

namespace ebb::routes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Validate : public testing::Test {
 protected:
  std::vector<std::string> refused() {
    std::vector<std::string> keys;
    reasons_.clear();
    for (const Refusal& refusal : validate(model_)) {
      EXPECT_FALSE(refusal.reason.empty());
      EXPECT_FALSE(refusal.remedy.empty());
      keys.push_back(refusal.key);
      reasons_ += refusal.reason + "; " + refusal.remedy + "\n";
    }
    return keys;
  }
  RouteModel& route() { return model_.routes[0]; }
  ConditionsModel& conditions() { return route().conditions.make(); }
  PolicyModel& policy() { return route().policy.make(); }

  Model model_ = small_model();
  std::string reasons_;
};

TEST_F(Validate, WantsExpressionsThatCompileAndShowsWhatRe2Says) {
  route().path = {PathKind::regex, "/a(b"};
  EXPECT_THAT(refused(), ElementsAre("routes[0].path.regex"));
  EXPECT_THAT(reasons_, HasSubstr("missing ): /a(b"));
  for (const char* pattern : {"", "*", "(?=x)", "(a)\\1", "[z-a]", "a{1001}"}) {
    route().path.text = pattern;
    EXPECT_THAT(refused(), ElementsAre("routes[0].path.regex")) << pattern;
  }
  route().path.text = std::string(1025, 'a');
  EXPECT_THAT(refused(), ElementsAre("routes[0].path.regex"));
  route().path.text = "((a{100}){100}){10}";
  EXPECT_THAT(refused(), ElementsAre("routes[0].path.regex"));
  route().path.text = "/v[12]/.*";
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, WantsAnExactPathFromTheRoot) {
  for (const char* path : {"", "x", "/a?b", "/a//b"}) {
    route().path = {PathKind::exact, path};
    EXPECT_THAT(refused(), ElementsAre("routes[0].path.exact")) << path;
  }
}

TEST_F(Validate, LetsRoutesShareAPathWhenTheirConditionsDiffer) {
  model_.routes = {routes::route("", "/a"), routes::route("", "/a"), routes::route("", "/a")};
  for (int i = 0; i < 3; ++i) model_.routes[static_cast<std::size_t>(i)].name = "r" + std::to_string(i);
  model_.routes[0].conditions.make().headers = {{"X-A", TextKind::exact, "1"}};
  model_.routes[1].conditions.make().headers = {{"X-A", TextKind::regex, "1"}};
  EXPECT_THAT(refused(), IsEmpty());
  model_.routes[1].conditions.make().headers = {{"x-a", TextKind::exact, "1"}};
  EXPECT_THAT(refused(), ElementsAre("routes[1].path"));
  model_.routes[0].conditions = {};
  model_.routes[1].conditions = {};
  model_.routes[1].path.kind = PathKind::exact;
  model_.routes[2].path.kind = PathKind::regex;
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, AsksForNamesOfRoutesThatWouldShareOne) {
  model_.routes.push_back(routes::route("", ""));
  model_.routes[1].conditions.make().methods = {"GET"};
  EXPECT_THAT(refused(), ElementsAre("routes[1]"));
}

TEST_F(Validate, RefusesConditionsThatNoRequestCanMeet) {
  conditions().listeners = {"http", "htpt"};
  conditions().methods = {"GET", "get", "G T", ""};
  conditions().headers = {{"X A", TextKind::exact, "1"},
                          {"X-B", TextKind::exact, "a\nb"},
                          {"Host", TextKind::exact, "a"},
                          {"X-C", TextKind::regex, "("}};
  conditions().query = {{"", TextKind::exact, "1"}, {"q", TextKind::exact, "1"}, {"q", TextKind::present, ""}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].listeners[1]", "routes[0].methods[1]", "routes[0].methods[2]",
                                     "routes[0].methods[3]", "routes[0].headers.X A", "routes[0].headers.X-B",
                                     "routes[0].headers.Host", "routes[0].headers.X-C.regex", "routes[0].query.",
                                     "routes[0].query.q"));
  conditions() = {};
  for (int i = 0; i < 17; ++i) conditions().headers.push_back({"X-" + std::to_string(i), TextKind::present, ""});
  EXPECT_THAT(refused(), ElementsAre("routes[0].headers"));
}

TEST_F(Validate, WantsExactlyOneOfBackendSharesAndRedirect) {
  route().shares = {{.name = "web"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].backend"));
  route().shares.clear();
  policy().redirect = RedirectModel{.host = "b.test"};
  EXPECT_THAT(refused(), ElementsAre("routes[0].backend"));
  route().backend = "";
  route().shares = {{.name = "web"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].backends"));
  route().shares.clear();
  EXPECT_THAT(refused(), IsEmpty());
  route().policy = {};
  EXPECT_THAT(refused(), ElementsAre("routes[0].backend"));
}

TEST_F(Validate, RefusesSharesOfUnknownBackendsAndTheSameTwice) {
  route().backend = "";
  route().shares = {{.name = "web"}, {.name = "wbe"}, {.name = "web", .weight = 1'000'001}};
  EXPECT_THAT(refused(),
              ElementsAre("routes[0].backends[1].name", "routes[0].backends[2].name", "routes[0].backends[2].weight"));
  route().shares = {{.name = "web", .weight = 0}};
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, RefusesRedirectsThatLeadNowhere) {
  route().backend = "";
  policy().redirect = RedirectModel{};
  EXPECT_THAT(refused(), ElementsAre("routes[0].redirect"));
  policy().redirect = RedirectModel{.status = 304, .scheme = "ftp", .host = "a b", .port = 65536};
  EXPECT_THAT(refused(), ElementsAre("routes[0].redirect.status", "routes[0].redirect.scheme",
                                     "routes[0].redirect.host", "routes[0].redirect.port"));
  policy().redirect = RedirectModel{.change = {.path = "x", .prefix = "/y?z"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].redirect", "routes[0].redirect.path", "routes[0].redirect.prefix"));
  policy().redirect = RedirectModel{.scheme = "https"};
  policy().rewrite = RewriteModel{.host = "b.test"};
  policy().mirrors = {{.backend = "web"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].rewrite", "routes[0].mirrors"));
  policy() = {};
  for (const std::uint32_t status : {301, 302, 303, 307, 308}) {
    policy().redirect = RedirectModel{.status = status, .scheme = "https"};
    EXPECT_THAT(refused(), IsEmpty()) << status;
  }
}

TEST_F(Validate, RefusesAPrefixForARouteThatMatchesOtherwise) {
  route().path = {PathKind::exact, "/x"};
  policy().rewrite = RewriteModel{.change = {.path = {}, .prefix = "/y"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].rewrite.prefix"));
  policy().rewrite = RewriteModel{};
  EXPECT_THAT(refused(), ElementsAre("routes[0].rewrite"));
}

TEST_F(Validate, RefusesHeaderEditsThatBreakTheMessage) {
  for (const char* name : {"Host", "connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding",
                           "Content-Length", "Upgrade", "Expect", "X Y", "X:", "", ":path"}) {
    policy().request_headers = {.set = {}, .add = {}, .remove = {name}};
    EXPECT_THAT(refused(), ElementsAre("routes[0].request_headers.remove[0]")) << name;
  }
  policy().request_headers = {.set = {{"Host", "x"}}, .add = {}, .remove = {}};
  refused();
  EXPECT_THAT(reasons_, HasSubstr("use rewrite: {host: NAME}"));
  policy().request_headers = {};
  for (const char* value : {"a\r\nb: c", "a\nb", "\x7f", " a", "a\t"}) {
    policy().response_headers = {.set = {{"X-A", value}}, .add = {}, .remove = {}};
    EXPECT_THAT(refused(), ElementsAre("routes[0].response_headers.set.X-A"));
  }
  policy().response_headers = {.set = {{"X-A", std::string("a\0b", 3)}}, .add = {}, .remove = {}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].response_headers.set.X-A"));
  policy().response_headers = {.set = {{"X-A", "1"}}, .add = {{"x-a", "2"}}, .remove = {"X-a"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].response_headers.add.x-a", "routes[0].response_headers.remove[0]"));
  policy().response_headers = {.set = {{"X-A", "caf\xc3\xa9 \t 1"}}, .add = {{"X-B", ""}}, .remove = {"Server"}};
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, RefusesMirrorsToNobodyAndOfMoreThanAll) {
  policy().mirrors = {{.backend = "web", .percent = 101}, {.backend = "nobody"}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].mirrors[0].percent", "routes[0].mirrors[1].backend"));
}

TEST_F(Validate, RefusesCorsThatOpensTooMuchOrNothing) {
  policy().cors = CorsModel{};
  EXPECT_THAT(refused(), ElementsAre("routes[0].cors.origins"));
  policy().cors = CorsModel{.origins = {"*"}, .credentials = true};
  EXPECT_THAT(refused(), ElementsAre("routes[0].cors.origins[0]"));
  for (const char* origin : {"shop.test", "https://shop.test/", "https://Shop.test", "https://*", "https://a.*.test",
                             "ftp://a.test", "https://a.test:0", "https://a.test:x", "null", ""}) {
    policy().cors = CorsModel{.origins = {origin}};
    EXPECT_THAT(refused(), ElementsAre("routes[0].cors.origins[0]")) << origin;
  }
  policy().cors = CorsModel{.origins = {"https://*.shop.test:8443", "http://[::1]:80", "*"},
                            .methods = {"GET, PUT"},
                            .headers = {"X A"},
                            .expose = {""},
                            .max_age = std::chrono::hours{25}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].cors.methods[0]", "routes[0].cors.headers[0]",
                                     "routes[0].cors.expose[0]", "routes[0].cors.max_age"));
}

TEST_F(Validate, RefusesOtherPoliciesThatCannotBeMeant) {
  policy().hsts = HstsModel{.preload = true};
  policy().rate_limit = RateLimitModel{.requests = 0};
  policy().timeouts = {.request = std::chrono::seconds{1}, .attempt = std::chrono::seconds{2}, .idle = Duration{-1}};
  policy().compression = CompressionModel{.types = {"text"}, .codings = {Coding::gzip, Coding::gzip}};
  route().retries = 11;
  EXPECT_THAT(refused(), ElementsAre("routes[0].retries", "routes[0].hsts.preload", "routes[0].rate_limit.requests",
                                     "routes[0].timeouts.idle", "routes[0].timeouts.try",
                                     "routes[0].compression.types[0]", "routes[0].compression.codings[1]"));
  policy() = {};
  route().retries = 0;
  policy().compression = CompressionModel{.types = {}, .codings = {}};
  EXPECT_THAT(refused(), ElementsAre("routes[0].compression.types", "routes[0].compression.codings"));
}

TEST_F(Validate, WantsOneBodyForAnErrorAndOneErrorForAStatus) {
  const auto content = std::make_shared<const std::string>("sorry");
  model_.errors = {{.statuses = {503, 503}},
                   {.statuses = {500, 599}, .text = "a", .file = {"a.html", content}},
                   {.statuses = {503, 503}, .text = "a", .content_type = "a\nb"},
                   {.statuses = {200, 200}, .text = "a"}};
  EXPECT_THAT(refused(),
              ElementsAre("errors[0]", "errors[1]", "errors[2].type", "errors[2].status", "errors[3].status"));
}

TEST_F(Validate, KnowsWhatListenersOfEachProtocolNeed) {
  ListenerModel& listener = model_.listeners[0];
  listener.protocol = Protocol::tcp;
  EXPECT_THAT(refused(), ElementsAre("listeners[0].backend"));
  listener.backend = "web";
  EXPECT_THAT(refused(), IsEmpty());
  listener.http2 = false;
  listener.certificates = {{"a.pem", "a.key"}};
  EXPECT_THAT(refused(), ElementsAre("listeners[0].certificates", "listeners[0].http2"));
  listener.certificates.clear();
  listener.http2 = true;
  listener.protocol = Protocol::udp;
  listener.proxy_protocol_from = {*Cidr::parse("10.0.0.0/8")};
  listener.connections_per_client = 5;
  model_.backends[0].proxy_protocol = ProxyProtocol::v2;
  EXPECT_THAT(refused(), ElementsAre("listeners[0].proxy_protocol", "listeners[0].connections_per_client",
                                     "listeners[0].backend"));
  listener.proxy_protocol_from.clear();
  listener.connections_per_client = 0;
  listener.protocol = Protocol::tls_passthrough;
  EXPECT_THAT(refused(), ElementsAre("listeners[0].backend"));
  listener.backend = "";
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, LetsTcpAndUdpShareAPort) {
  model_.listeners.push_back(listener("udp", "127.0.0.1:8080"));
  model_.listeners[1].protocol = Protocol::udp;
  model_.listeners[1].backend = "web";
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, WantsAnAuthorityForClientCertificates) {
  ListenerModel& listener = model_.listeners[0];
  listener.client_certificates = {.mode = ClientCertificates::required};
  EXPECT_THAT(refused(), ElementsAre("listeners[0].client_certificates"));
  listener.protocol = Protocol::https;
  listener.certificates = {{"a.pem", "a.key"}};
  EXPECT_THAT(refused(), ElementsAre("listeners[0].client_certificates.ca"));
  listener.client_certificates = {.mode = ClientCertificates::none, .ca = "ca.pem"};
  EXPECT_THAT(refused(), ElementsAre("listeners[0].client_certificates.mode"));
  listener.client_certificates = {.mode = ClientCertificates::optional, .ca = "ca.pem", .crl = "crl.pem"};
  EXPECT_THAT(refused(), IsEmpty());
}

TEST_F(Validate, WantsTheTlsOfARouteToBeThatOfItsBackend) {
  route().tls = TlsMode::reencrypt;
  EXPECT_THAT(refused(), ElementsAre("routes[0].tls"));
  model_.backends[0].tls = BackendTlsModel{.name = "web.internal"};
  EXPECT_THAT(refused(), IsEmpty());
  route().tls = TlsMode::edge;
  EXPECT_THAT(refused(), ElementsAre("routes[0].tls"));
  route().tls = TlsMode::passthrough;
  EXPECT_THAT(refused(), ElementsAre("routes[0].tls"));
}

TEST_F(Validate, RefusesForPassthroughWhateverNeedsALookInside) {
  route().tls = TlsMode::passthrough;
  policy().allow = {*Cidr::parse("10.0.0.0/8")};
  policy().timeouts.tunnel_idle = std::chrono::seconds{1};
  EXPECT_THAT(refused(), IsEmpty());
  route().path.text = "/x";
  conditions().methods = {"GET"};
  policy().hsts = HstsModel{};
  policy().response_headers.remove = {"Server"};
  EXPECT_THAT(refused(),
              ElementsAre("routes[0].path", "routes[0].methods", "routes[0].response_headers", "routes[0].hsts"));
}

TEST_F(Validate, RefusesBackendTlsThatProvesNothing) {
  BackendModel& backend = model_.backends[0];
  route().tls = TlsMode::reencrypt;
  backend.tls = BackendTlsModel{};
  EXPECT_THAT(refused(), ElementsAre("backends[0].tls.name"));
  backend.tls = BackendTlsModel{.ca = "ca.pem", .verify = false};
  EXPECT_THAT(refused(), ElementsAre("backends[0].tls.ca"));
  backend.tls = BackendTlsModel{.name = "a b", .sni = "*.test", .certificate = "c.pem"};
  EXPECT_THAT(refused(), ElementsAre("backends[0].tls.name", "backends[0].tls.sni", "backends[0].tls.key"));
  for (const char* name : {"a b", "fd00::1%eth0", "fd00::1:", "10.1.0.5:80 "}) {
    backend.tls = BackendTlsModel{.name = name};
    EXPECT_THAT(refused(), ElementsAre("backends[0].tls.name")) << name;
  }
  for (const char* address : {"10.1.0.5", "fd00::1", "[fd00::1]"}) {
    backend.tls = BackendTlsModel{.name = address};
    EXPECT_THAT(refused(), ElementsAre()) << address;
    backend.tls->sni = address;
    EXPECT_THAT(refused(), ElementsAre("backends[0].tls.sni")) << address;
  }
  backend.tls = BackendTlsModel{.name = "a.test"};
  backend.protocol = BackendProtocol::h2c;
  EXPECT_THAT(refused(), ElementsAre("backends[0].protocol"));
  route().tls = TlsMode::edge;
  backend.tls.reset();
  backend.protocol = BackendProtocol::h2;
  EXPECT_THAT(refused(), ElementsAre("backends[0].protocol"));
  backend.protocol = BackendProtocol::automatic;
  backend.http2 = {.streams = 0, .max_age = {}};
  EXPECT_THAT(refused(), ElementsAre("backends[0].http2.streams", "backends[0].http2.max_age"));
}

}  // namespace
}  // namespace ebb::routes
