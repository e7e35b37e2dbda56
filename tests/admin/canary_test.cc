#include <gmock/gmock.h>

#include <fstream>
#include <regex>
#include <set>

#include "admin/canary_metrics.h"
#include "admin/control_fixture.h"
#include "tests/project_folder.h"

namespace ebb::admin {
namespace {

using canary::Fault;
using testing::HasSubstr;
using testing::Not;
using wire::JsonValue;

using namespace std::chrono_literals;

constexpr base::WallTime start{10s};

// One leg that failed three times, and one that was not walked yet.
canary::ProberFacts example() {
  canary::ProberFacts facts;
  canary::LegFacts failing{.leg = {.replica = "self",
                                   .kind = canary::Kind::edge,
                                   .protocol = canary::Protocol::h2,
                                   .host = "::1",
                                   .port = 8443,
                                   .authority = "canary.test",
                                   .path = "/"},
                           .state = canary::LegState()};
  canary::ProbeResult result{
      .judgement = {Fault::wrong_port, "8080, not 8888"}, .peer = "[::1]:8443", .tls = "TLSv1.3"};
  result.phases.set(canary::Phase::connect, 2ms);
  result.phases.set(canary::Phase::total, 30ms);
  result.answer.status = 200;
  result.answer.port = "8080";
  result.answer.generation = "7";
  result.certificate = {.subject = "CN=canary.test", .issuer = "CN=ca", .expires = start + 24h, .verified = true};
  result.expires_soon = true;
  result.at = start + 2s;
  failing.durations.add(result.phases, true);
  for (int i = 0; i < 3; ++i) failing.state.note(result.judgement, start + i * 1s);
  failing.last = result;
  canary::LegFacts fresh{.leg = failing.leg, .state = canary::LegState()};
  fresh.leg.protocol = canary::Protocol::websocket;
  fresh.leg.authority = "other.test";
  facts.legs = {failing, fresh};
  facts.condition = canary::sum_up({{"self/edge/h2", failing.state.condition()}});
  facts.wanted_port = 8888;
  facts.port_moves = 4;
  facts.sockets = 1;
  facts.connections = 12;
  return facts;
}

std::string exposition(observe::MetricFormat format) {
  std::string text;
  observe::MetricWriter writer(format, text);
  write_canary_metrics(writer, example());
  return text;
}

class CanaryApi : public ControlTest {};

TEST_F(CanaryApi, SaysThatThereIsNone) {
  const JsonValue none = json(ask("GET", "/api/v1/canary"));
  EXPECT_EQ(text(none, "configured"), "false");
  EXPECT_EQ(text(*none.find("condition"), "status"), "Unknown");
  EXPECT_THAT(ask("GET", "/metrics").body, Not(HasSubstr("canary")));
}

TEST_F(CanaryApi, ShowsEveryLegWithItsCause) {
  sources_.canary = [] { return std::make_shared<const canary::ProberFacts>(example()); };
  const JsonValue all = json(ask("GET", "/api/v1/canary"));
  EXPECT_EQ(text(all, "configured"), "true");
  EXPECT_EQ(text(*all.find("condition"), "type"), "CanaryChecksSucceeding");
  EXPECT_EQ(text(*all.find("condition"), "status"), "False");
  EXPECT_EQ(text(all, "wanted_port"), "8888");
  EXPECT_EQ(text(all, "sockets"), "1");
  ASSERT_EQ(all.find("legs")->items.size(), 2u);
  const JsonValue& leg = all.find("legs")->items[0];
  EXPECT_EQ(text(leg, "name"), "self/edge/h2");
  EXPECT_EQ(text(leg, "address"), "[::1]:8443");
  EXPECT_EQ(text(*leg.find("cause"), "fault"), "wrong_port");
  EXPECT_EQ(text(*leg.find("cause"), "count"), "3");
  EXPECT_EQ(text(leg.find("errors")->items.at(0), "detail"), "8080, not 8888");
  EXPECT_EQ(text(*leg.find("last"), "generation"), "7");
  EXPECT_EQ(text(*leg.find("last")->find("phases_us"), "total"), "30000");
  EXPECT_EQ(text(*leg.find("last")->find("certificate"), "expires_soon"), "true");
  const JsonValue& fresh = all.find("legs")->items[1];
  EXPECT_EQ(text(*fresh.find("condition"), "status"), "Unknown");
  EXPECT_EQ(fresh.find("last")->kind, JsonValue::Kind::null);
  EXPECT_EQ(fresh.find("cause")->kind, JsonValue::Kind::null);
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nebbgate_canary_port_moves_total 4\n"));
}

TEST(CanaryMetrics, HaveTheNamesOfOpenShift) {
  const std::string text = exposition(observe::MetricFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("\ningress_canary_route_reachable{host=\"canary.test\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("ingress_canary_route_reachable{host=\"other.test\"}"))) << "nobody has asked yet";
  EXPECT_THAT(text, HasSubstr("\ningress_canary_check_duration_bucket{host=\"canary.test\",le=\"25\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("\ningress_canary_check_duration_bucket{host=\"canary.test\",le=\"50\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ningress_canary_check_duration_bucket{host=\"canary.test\",le=\"+Inf\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("\ningress_canary_check_duration_sum{host=\"canary.test\"} 30\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE ingress_canary_endpoint_wrong_port_echo counter\n"
                              "ingress_canary_endpoint_wrong_port_echo 3\n"));
  EXPECT_THAT(text, HasSubstr("\ningress_canary_route_DNS_error{host=\"canary.test\",dnsServer=\"\"} 0\n"));
  EXPECT_THAT(exposition(observe::MetricFormat::openmetrics),
              HasSubstr("# TYPE ingress_canary_endpoint_wrong_port_echo counter\n"
                        "ingress_canary_endpoint_wrong_port_echo_total 3\n"));
}

TEST(CanaryMetrics, TellEveryLeg) {
  const std::string text = exposition(observe::MetricFormat::prometheus);
  EXPECT_THAT(text, HasSubstr("ebbgate_canary_checks_succeeding{status=\"False\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("ebbgate_canary_leg_succeeding{replica=\"self\",kind=\"edge\",protocol=\"h2\"} 0\n"));
  EXPECT_THAT(text, Not(HasSubstr("protocol=\"websocket\""))) << "nothing is known of it";
  EXPECT_THAT(text, HasSubstr("protocol=\"h2\",fault=\"wrong_port\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("ebbgate_canary_phase_seconds_count{replica=\"self\",kind=\"edge\",protocol=\"h2\",phase="
                              "\"connect\"} 1\n"));
}

TEST(CanaryMetrics, AndTheirDocumentationNameTheSame) {
  std::set<std::string> written;
  const std::string text = exposition(observe::MetricFormat::prometheus);
  const std::regex type(R"(# TYPE (\w+) )");
  for (std::sregex_iterator at(text.begin(), text.end(), type), end; at != end; ++at) written.insert((*at)[1]);

  const auto page = project_folder() / "docs/canary.md";
  std::ifstream file(page);
  ASSERT_TRUE(file.is_open()) << page;
  const std::regex row(R"(\| `((?:ingress|ebbgate)_canary_\w+)` \|.*)");
  std::set<std::string> documented;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, row)) documented.insert(match[1]);
  }
  EXPECT_EQ(written, documented);
}

}  // namespace
}  // namespace ebb::admin
