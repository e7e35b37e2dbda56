#include "observe/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>

#include "observe/metric_parser.h"
#include "tests/project_folder.h"

namespace ebb::observe {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class Exposition : public testing::Test {
 protected:
  Exposition() {
    for (const char* backend : {"carts", "accounts"}) {
      ExchangeRecord record;
      record.listener = labels_.intern("public");
      record.route = labels_.intern("shop");
      record.backend = labels_.intern(backend);
      record.endpoint = labels_.intern(std::string(backend) + "-1");
      record.status = 200;
      record.until_response = microseconds{100};
      record.total = milliseconds{3};
      counters_.record(record);
      counters_.record(record);
      record.status = 502;
      record.cause = base::Cause::backend_reset;
      counters_.record(record);
    }
    counters_.closed_by(base::Side::client, base::Cause::client_reset);
    counters_.retries[static_cast<std::size_t>(base::Cause::backend_closed)] = 5;
    counters_.verdicts[1][static_cast<std::size_t>(base::Cause::backend_refused)] = 3;
    counters_.checks[labels_.intern("carts")] = {2, 40};
    counters_.datagrams.flows_moved[static_cast<std::size_t>(base::Cause::backend_refused)] = 2;
    counters_.datagrams.client_in = 9;
    counters_.datagrams.overrun = 3;
    counters_.tls_handshakes = 10;
    counters_.tls_resumed = 4;
    counters_.client_connections[1] = 17;
    counters_.loop_lag_max = milliseconds{2};
  }

  std::string text(MetricFormat format = MetricFormat::prometheus) {
    static constexpr std::string_view client_states[] = {"reading", "waiting"};
    static constexpr std::string_view backend_states[] = {"connecting", "idle", "leased"};
    static constexpr std::string_view health_states[] = {"up", "down"};
    const Scrape scrape{.counters = counters_,
                        .labels = labels_,
                        .client_states = client_states,
                        .backend_states = backend_states,
                        .health_states = health_states,
                        .workers = 2,
                        .workers_silent = 1,
                        .log_losses = {.lines_dropped = 1, .failed_writes = 2, .lines_lost = 3},
                        .audit = {.runs = 7, .runs_incomplete = 1, .differences = 2},
                        .process = {.start_time_seconds = 1.5e9, .cpu_seconds = 0.25},
                        .version = "1.2.3"};
    std::string out;
    write_exposition(scrape, format, out);
    return out;
  }
  ParsedMetrics parsed(MetricFormat format = MetricFormat::prometheus) {
    return MetricParser(format == MetricFormat::openmetrics).parse(text(format));
  }
  double value(const std::string& family, const std::string& series) {
    const ParsedMetrics metrics = parsed();
    const auto found = metrics.families.find(family);
    if (found == metrics.families.end() || !found->second.samples.contains(series)) {
      ADD_FAILURE() << series << " is missing";
      return -1;
    }
    return found->second.samples.at(series);
  }

  base::Labels labels_;
  Counters counters_;
};

TEST_F(Exposition, IsStrictlyWellFormedInBothFormats) {
  for (const MetricFormat format : {MetricFormat::prometheus, MetricFormat::openmetrics}) {
    const ParsedMetrics metrics = parsed(format);
    EXPECT_EQ(metrics.error, "");
    for (const auto& [name, family] : metrics.families) {
      EXPECT_FALSE(family.type.empty()) << name;
      EXPECT_TRUE(family.help.ends_with('.')) << name;
      EXPECT_FALSE(family.samples.empty()) << name;
    }
  }
}

TEST_F(Exposition, OfNothingIsWellFormed) {
  counters_ = {};
  for (const MetricFormat format : {MetricFormat::prometheus, MetricFormat::openmetrics}) {
    EXPECT_EQ(parsed(format).error, "");
  }
}

TEST_F(Exposition, ShowsEachNumberUnderItsLabels) {
  EXPECT_EQ(value("ebbgate_requests_total",
                  R"(ebbgate_requests_total{listener="public",route="shop",backend="carts",endpoint="carts-1",)"
                  R"(code="502",cause="backend_reset"})"),
            1);
  EXPECT_EQ(value("ebbgate_tls_handshakes_total", R"(ebbgate_tls_handshakes_total{kind="full"})"), 6);
  EXPECT_EQ(value("ebbgate_tls_handshakes_total", R"(ebbgate_tls_handshakes_total{kind="resumed"})"), 4);
  EXPECT_EQ(value("ebbgate_connections", R"(ebbgate_connections{side="client",state="waiting"})"), 17);
  EXPECT_EQ(value("ebbgate_connections_closed_total",
                  R"(ebbgate_connections_closed_total{side="client",cause="client_reset"})"),
            1);
  EXPECT_EQ(value("ebbgate_retries_total", R"(ebbgate_retries_total{cause="backend_closed"})"), 5);
  EXPECT_EQ(value("ebbgate_checks_total", R"(ebbgate_checks_total{backend="carts",result="failed"})"), 2);
  EXPECT_EQ(value("ebbgate_checks_total", R"(ebbgate_checks_total{backend="carts",result="passed"})"), 40);
  EXPECT_EQ(value("ebbgate_flows_moved_total", R"(ebbgate_flows_moved_total{cause="backend_refused"})"), 2);
  EXPECT_EQ(value("ebbgate_datagrams_total", R"(ebbgate_datagrams_total{side="client",direction="in"})"), 9);
  EXPECT_EQ(value("ebbgate_datagrams_dropped_total", R"(ebbgate_datagrams_dropped_total{reason="overrun"})"), 3);
  EXPECT_EQ(value("ebbgate_loop_lag_max_seconds", "ebbgate_loop_lag_max_seconds"), 0.002);
  EXPECT_EQ(value("ebbgate_workers_silent", "ebbgate_workers_silent"), 1);
  EXPECT_EQ(value("ebbgate_build_info", R"(ebbgate_build_info{version="1.2.3"})"), 1);
}

TEST_F(Exposition, HistogramsAreCumulativeAndEndInTheirCount) {
  const std::string family = "ebbgate_response_start_seconds";
  EXPECT_EQ(value(family, family + R"(_bucket{backend="carts",le="6.4e-05"})"), 0);
  EXPECT_EQ(value(family, family + R"(_bucket{backend="carts",le="0.000128"})"), 3);
  EXPECT_EQ(value(family, family + R"(_bucket{backend="carts",le="67.108864"})"), 3);
  EXPECT_EQ(value(family, family + R"(_bucket{backend="carts",le="+Inf"})"), 3);
  EXPECT_EQ(value(family, family + R"(_count{backend="carts"})"), 3);
  EXPECT_DOUBLE_EQ(value(family, family + R"(_sum{backend="carts"})"), 0.0003);
}

TEST_F(Exposition, EscapesLabelValues) {
  ExchangeRecord record;
  record.backend = labels_.intern("a\"b\\c\nd");
  counters_.record(record);
  EXPECT_THAT(text(), testing::HasSubstr(R"(backend="a\"b\\c\nd")"));
  EXPECT_EQ(parsed().error, "");
}

TEST_F(Exposition, DoesNotDependOnTheOrderOfCounting) {
  const std::string before = text();
  Counters other = counters_;
  counters_ = {};
  counters_.add(other);
  EXPECT_EQ(text(), before);
  EXPECT_LT(before.find(R"(backend="accounts")"), before.find(R"(backend="carts")"));
}

TEST_F(Exposition, AndItsDocumentationNameTheSameMetrics) {
  std::set<std::string> written;
  for (const auto& [name, family] : parsed().families) written.insert(name);

  const auto page = project_folder() / "docs/metrics.md";
  std::ifstream file(page);
  ASSERT_TRUE(file.is_open()) << page;
  const std::regex row(R"(\| `([a-z_]+)` \|.*)");
  std::set<std::string> documented;
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, match, row)) documented.insert(match[1]);
  }
  EXPECT_EQ(written, documented);
}

TEST(MetricFormat, FollowsTheAcceptField) {
  using enum MetricFormat;
  EXPECT_EQ(choose_metric_format(""), prometheus);
  EXPECT_EQ(choose_metric_format("*/*"), prometheus);
  EXPECT_EQ(choose_metric_format("text/plain"), prometheus);
  EXPECT_EQ(choose_metric_format("application/openmetrics-text"), openmetrics);
  EXPECT_EQ(choose_metric_format("Application/OpenMetrics-Text ; version=1.0.0 ; Q=0.5 , text/plain;q=0.3"),
            openmetrics);
  EXPECT_EQ(choose_metric_format("application/openmetrics-text;q=0.2,text/plain;q=0.3"), prometheus);
  EXPECT_EQ(choose_metric_format("application/openmetrics-text;q=0"), prometheus);
  EXPECT_EQ(choose_metric_format("application/openmetrics-text;q=abc"), prometheus);
  EXPECT_EQ(choose_metric_format(";,=;q,,"), prometheus);
}

TEST(ProcessFacts, AreThoseOfThisProcess) {
  const ProcessFacts facts = read_process_facts();
  EXPECT_GT(facts.start_time_seconds, 1.6e9);
  EXPECT_GT(facts.resident_bytes, 100000u);
  EXPECT_GE(facts.open_fds, 1u);
  EXPECT_GE(facts.max_fds, facts.open_fds);
}

}  // namespace
}  // namespace ebb::observe
