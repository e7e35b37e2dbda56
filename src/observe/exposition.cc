#include "observe/exposition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <vector>

namespace ebb::observe {
namespace {

double seconds(base::Duration duration) { return std::chrono::duration<double>(duration).count(); }

struct RequestRow {
  std::string_view listener, route, backend, endpoint;
  std::uint16_t status;
  std::string_view cause;
  std::uint64_t count;
  friend auto operator<=>(const RequestRow&, const RequestRow&) = default;
};

void write_plain(MetricWriter& out, const Counters& counters) {
#define X(member, metric, words) \
  out.counter(metric, words);    \
  out.sample({}, counters.member);
  EBB_PLAIN_COUNTERS(X)
#undef X
}

void write_requests(MetricWriter& out, const Scrape& scrape) {
  std::vector<RequestRow> rows;
  rows.reserve(scrape.counters.requests.size());
  const base::Labels& labels = scrape.labels;
  for (const auto& [key, count] : scrape.counters.requests) {
    rows.push_back({labels.text(key.listener), labels.text(key.route), labels.text(key.backend),
                    labels.text(key.endpoint), key.status, base::name(key.cause), count});
  }
  std::ranges::sort(rows);
  out.counter("ebbgate_requests",
              "Exchanges that ended, by what they were and why they ended; code 0: no answer sent.");
  for (const RequestRow& row : rows) {
    char code[8];
    const std::string_view code_text(code, std::to_chars(code, code + sizeof code, row.status).ptr);
    out.sample({{"listener", row.listener},
                {"route", row.route},
                {"backend", row.backend},
                {"endpoint", row.endpoint},
                {"code", code_text},
                {"cause", row.cause}},
               row.count);
  }
}

void write_histograms(MetricWriter& out, const base::Labels& labels,
                      const boost::unordered_flat_map<base::Label, Histogram>& by_backend) {
  std::vector<std::pair<std::string_view, const Histogram*>> rows;
  for (const auto& [backend, histogram] : by_backend) rows.emplace_back(labels.text(backend), &histogram);
  std::ranges::sort(rows);
  for (const auto& [backend, histogram] : rows) out.sample({{"backend", backend}}, *histogram);
}

void write_times(MetricWriter& out, const Scrape& scrape) {
  out.histogram("ebbgate_request_duration_seconds", "From the request head to the end of the exchange.");
  write_histograms(out, scrape.labels, scrape.counters.latency_by_backend);
  out.histogram("ebbgate_response_start_seconds", "From the request head to the first byte of the response.");
  write_histograms(out, scrape.labels, scrape.counters.response_by_backend);
  out.gauge("ebbgate_exchanges", "Exchanges under way.");
  out.sample({}, scrape.counters.exchanges);
  out.gauge("ebbgate_requests_held", "Requests that wait for an endpoint.");
  out.sample({}, scrape.counters.requests_held);
}

void write_states(MetricWriter& out, std::string_view side, std::span<const std::string_view> names,
                  std::span<const std::uint64_t> counts) {
  const std::size_t size = std::min(names.size(), counts.size());
  for (std::size_t i = 0; i < size; ++i) out.sample({{"side", side}, {"state", names[i]}}, counts[i]);
}

void write_closed(MetricWriter& out, const Counters& counters) {
  out.counter("ebbgate_connections_closed", "Connections closed, by side and cause; causes that occurred.");
  for (const base::Side side : {base::Side::backend, base::Side::client}) {
    const auto& by_cause = counters.closed[static_cast<std::size_t>(side)];
    for (std::size_t cause = 0; cause < base::cause_count; ++cause) {
      if (by_cause[cause] == 0) continue;
      out.sample({{"side", base::name(side)}, {"cause", base::cause_table[cause].name}}, by_cause[cause]);
    }
  }
}

void write_connections(MetricWriter& out, const Scrape& scrape) {
  const Counters& counters = scrape.counters;
  out.gauge("ebbgate_connections", "Open connections, by side and state.");
  write_states(out, "backend", scrape.backend_states, counters.backend_connections);
  write_states(out, "client", scrape.client_states, counters.client_connections);
  write_closed(out, counters);
}

void write_retries(MetricWriter& out, const Counters& counters) {
  out.counter("ebbgate_retries", "Requests sent again, by the cause that made it necessary; causes that occurred.");
  for (std::size_t cause = 0; cause < base::cause_count; ++cause) {
    if (counters.retries[cause] == 0) continue;
    out.sample({{"cause", base::cause_table[cause].name}}, counters.retries[cause]);
  }
}

void write_verdicts(MetricWriter& out, const Scrape& scrape) {
  const Counters& counters = scrape.counters;
  out.counter("ebbgate_endpoint_verdicts", "Changes of the health of endpoints, by what it became and why.");
  for (std::size_t health = 0; health < scrape.health_states.size(); ++health) {
    for (std::size_t cause = 0; cause < base::cause_count; ++cause) {
      if (counters.verdicts[health][cause] == 0) continue;
      out.sample({{"to", scrape.health_states[health]}, {"cause", base::cause_table[cause].name}},
                 counters.verdicts[health][cause]);
    }
  }
}

void write_checks(MetricWriter& out, const Scrape& scrape) {
  using Row = std::pair<std::string_view, std::array<std::uint64_t, 2>>;
  std::vector<Row> rows;
  for (const auto& [backend, results] : scrape.counters.checks) rows.emplace_back(scrape.labels.text(backend), results);
  std::ranges::sort(rows);
  out.counter("ebbgate_checks", "Active health checks that ended, by backend and result.");
  for (const auto& [backend, results] : rows) {
    out.sample({{"backend", backend}, {"result", "failed"}}, results[0]);
    out.sample({{"backend", backend}, {"result", "passed"}}, results[1]);
  }
}

void write_mirrors(MetricWriter& out, const Counters& counters) {
  out.counter("ebbgate_mirrors", "Copies of requests to mirrors, by what became of them.");
  out.sample({{"outcome", "answered"}}, counters.mirrors_answered);
  out.sample({{"outcome", "failed"}}, counters.mirrors_failed);
  out.sample({{"outcome", "left_out"}}, counters.mirrors_left_out);
}

void write_stickiness(MetricWriter& out, const Counters& counters) {
  out.counter("ebbgate_sticky_responses", "Responses of backends that bind clients to endpoints by a cookie.");
  out.sample({{"client", "bound"}}, counters.sticky_bound);
  out.sample({{"client", "moved"}}, counters.sticky_moved);
  out.sample({{"client", "stayed"}}, counters.sticky_stayed);
}

void write_datagrams(MetricWriter& out, const DatagramCounters& counters) {
  out.gauge("ebbgate_flows", "Flows of datagrams: clients of udp listeners that were heard of recently.");
  out.sample({}, counters.flows);
  out.counter("ebbgate_flows_moved", "Flows that got another endpoint, by why they had to; causes that occurred.");
  for (std::size_t cause = 0; cause < base::cause_count; ++cause) {
    if (counters.flows_moved[cause] == 0) continue;
    out.sample({{"cause", base::cause_table[cause].name}}, counters.flows_moved[cause]);
  }
  out.counter("ebbgate_datagrams", "Datagrams, by side and direction as the router sees it.");
  out.sample({{"side", "backend"}, {"direction", "in"}}, counters.backend_in);
  out.sample({{"side", "backend"}, {"direction", "out"}}, counters.backend_out);
  out.sample({{"side", "client"}, {"direction", "in"}}, counters.client_in);
  out.sample({{"side", "client"}, {"direction", "out"}}, counters.client_out);
  out.counter("ebbgate_datagrams_dropped", "Datagrams that came and went no further, by why.");
  out.sample({{"reason", "no_endpoint"}}, counters.without_endpoint);
  out.sample({{"reason", "overrun"}}, counters.overrun);
  out.sample({{"reason", "stopping"}}, counters.while_stopping);
  out.sample({{"reason", "truncated"}}, counters.truncated);
  out.sample({{"reason", "unsent"}}, counters.unsent);
}

void write_traffic(MetricWriter& out, const Counters& counters) {
  out.counter("ebbgate_bytes", "Bytes over sockets, by side and direction as the router sees it.");
  out.sample({{"side", "backend"}, {"direction", "in"}}, counters.backend_bytes_in);
  out.sample({{"side", "backend"}, {"direction", "out"}}, counters.backend_bytes_out);
  out.sample({{"side", "client"}, {"direction", "in"}}, counters.client_bytes_in);
  out.sample({{"side", "client"}, {"direction", "out"}}, counters.client_bytes_out);
  out.counter("ebbgate_tls_handshakes", "TLS handshakes with clients that were completed.");
  // Two separate counters, read at different moments: the difference must not wrap around.
  const std::uint64_t full = counters.tls_handshakes - std::min(counters.tls_handshakes, counters.tls_resumed);
  out.sample({{"kind", "full"}}, full);
  out.sample({{"kind", "resumed"}}, counters.tls_resumed);
}

void write_access_log(MetricWriter& out, const Scrape& scrape) {
  out.counter("ebbgate_access_log_lines_lost", "Access log lines lost in failed writes.");
  out.sample({}, scrape.log_losses.lines_lost);
  out.counter("ebbgate_access_log_failed_writes", "Writes to the access log, or attempts to reopen it, that failed.");
  out.sample({}, scrape.log_losses.failed_writes);
}

void write_workers(MetricWriter& out, const Scrape& scrape) {
  const Counters& counters = scrape.counters;
  out.gauge("ebbgate_workers", "Worker threads.");
  out.sample({}, scrape.workers);
  out.gauge("ebbgate_workers_silent", "Workers that did not reply to this scrape in time; their numbers are missing.");
  out.sample({}, scrape.workers_silent);
  out.gauge("ebbgate_loop_lag_max_seconds", "Longest round of callbacks of any worker since the last scrape.");
  out.sample({}, seconds(counters.loop_lag_max));
  out.gauge("ebbgate_buffer_bytes", "Bytes of buffers in use.");
  out.sample({}, counters.buffer_bytes);
}

void write_audit(MetricWriter& out, const AuditReport& audit) {
  out.gauge("ebbgate_audit_differences",
            "Differences between the router's book of descriptors and the kernel's. Any value but 0 is a bug.");
  out.sample({}, audit.differences);
  out.counter("ebbgate_audit_runs", "Comparisons of the two, by whether all threads answered in time.");
  out.sample({{"outcome", "complete"}}, audit.runs);
  out.sample({{"outcome", "incomplete"}}, audit.runs_incomplete);
}

void write_configuration(MetricWriter& out, const Counters& counters) {
  out.gauge("ebbgate_config_generation", "Number of the configuration that all workers serve.");
  out.sample({}, counters.generation);
  out.gauge("ebbgate_config_snapshots_alive", "Configurations that some exchange still uses.");
  out.sample({}, counters.snapshots_alive);
}

// The names that all Prometheus clients use, so that common dashboards find them.
void write_process(MetricWriter& out, const Scrape& scrape) {
  out.info("ebbgate_build", "Version of this program; the value is always 1.");
  out.sample({{"version", scrape.version}}, std::uint64_t{1});
  out.counter("process_cpu_seconds", "User and system time.");
  out.sample({}, scrape.process.cpu_seconds);
  out.gauge("process_max_fds", "Limit of open file descriptors.");
  out.sample({}, scrape.process.max_fds);
  out.gauge("process_open_fds", "Open file descriptors.");
  out.sample({}, scrape.process.open_fds);
  out.gauge("process_resident_memory_bytes", "Resident memory.");
  out.sample({}, scrape.process.resident_bytes);
  out.gauge("process_start_time_seconds", "When the process started, in seconds since the epoch.");
  out.sample({}, scrape.process.start_time_seconds);
}

}  // namespace

void write_exposition(const Scrape& scrape, MetricFormat format, std::string& out) {
  MetricWriter writer(format, out);
  write_plain(writer, scrape.counters);
  write_requests(writer, scrape);
  write_times(writer, scrape);
  write_connections(writer, scrape);
  write_retries(writer, scrape.counters);
  write_verdicts(writer, scrape);
  write_checks(writer, scrape);
  write_mirrors(writer, scrape.counters);
  write_stickiness(writer, scrape.counters);
  write_traffic(writer, scrape.counters);
  write_datagrams(writer, scrape.counters.datagrams);
  write_access_log(writer, scrape);
  write_workers(writer, scrape);
  write_audit(writer, scrape.audit);
  write_configuration(writer, scrape.counters);
  write_process(writer, scrape);
  if (scrape.more) scrape.more(writer);
  writer.finish();
}

}  // namespace ebb::observe
