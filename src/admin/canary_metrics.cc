#include "admin/canary_metrics.h"

#include <map>
#include <string>

namespace ebb::admin {
namespace {

using canary::Fault;
using canary::LegFacts;
using canary::Truth;
using observe::MetricWriter;

// All legs to one host; OpenShift's canary has only one host.
struct Host {
  bool probed = false;
  bool reachable = true;  // by the last probe of each leg
  std::uint64_t name_errors = 0;
  canary::CheckDurations checks;
};

std::map<std::string_view, Host> by_host(const canary::ProberFacts& facts) {
  std::map<std::string_view, Host> hosts;
  for (const LegFacts& leg : facts.legs) {
    Host& host = hosts[leg.leg.authority];
    host.name_errors += leg.state.count(Fault::name_resolution);
    const canary::CheckDurations& checks = leg.durations.checks;
    for (std::size_t i = 0; i < checks.buckets.size(); ++i) host.checks.buckets[i] += checks.buckets[i];
    host.checks.count += checks.count;
    host.checks.sum += checks.sum;
    if (!leg.last) continue;
    host.probed = true;
    host.reachable = host.reachable && leg.last->good();
  }
  return hosts;
}

void write_as_openshift(MetricWriter& out, const canary::ProberFacts& facts) {
  const std::map<std::string_view, Host> hosts = by_host(facts);
  out.gauge("ingress_canary_route_reachable", "1 if the last probe of every leg to the host was good, else 0.");
  for (const auto& [name, host] : hosts) {
    if (host.probed) out.sample({{"host", name}}, std::uint64_t{host.reachable});
  }
  out.histogram("ingress_canary_check_duration", "Duration of good probes in milliseconds.");
  for (const auto& [name, host] : hosts) {
    out.sample({{"host", name}},
               MetricWriter::Buckets{.bounds = canary::CheckDurations::bounds_ms,
                                     .counts = host.checks.buckets,
                                     .sum = std::chrono::duration<double, std::milli>(host.checks.sum).count()});
  }
  std::uint64_t wrong_ports = 0;
  for (const LegFacts& leg : facts.legs) wrong_ports += leg.state.count(Fault::wrong_port);
  out.foreign_counter("ingress_canary_endpoint_wrong_port_echo",
                      "Answers from another port than the one that the endpoints were moved to.");
  out.sample({}, wrong_ports);
  out.foreign_counter("ingress_canary_route_DNS_error", "Probes whose host name could not be resolved.");
  for (const auto& [name, host] : hosts) out.sample({{"host", name}, {"dnsServer", ""}}, host.name_errors);
}

struct Labels {
  std::string_view replica, kind, protocol;
};

Labels labels_of(const canary::Leg& leg) { return {leg.replica, canary::name(leg.kind), canary::name(leg.protocol)}; }

void write_conditions(MetricWriter& out, const canary::ProberFacts& facts) {
  out.gauge("ebbgate_canary_checks_succeeding",
            "The condition CanaryChecksSucceeding: 1 for its status, 0 for others.");
  for (const Truth truth : {Truth::yes, Truth::no, Truth::unknown}) {
    out.sample({{"status", canary::name(truth)}}, std::uint64_t{facts.condition.status == truth});
  }
  out.gauge("ebbgate_canary_leg_succeeding", "1 if the leg is good, 0 if it fails; none if that is not known.");
  for (const LegFacts& leg : facts.legs) {
    if (leg.state.succeeding() == Truth::unknown) continue;
    const Labels labels = labels_of(leg.leg);
    out.sample({{"replica", labels.replica}, {"kind", labels.kind}, {"protocol", labels.protocol}},
               std::uint64_t{leg.state.succeeding() == Truth::yes});
  }
}

// Faults that a leg never had get no series: there are 22 faults.
void write_probes(MetricWriter& out, const canary::ProberFacts& facts) {
  out.counter("ebbgate_canary_probes", "Probes by what was wrong with them; none: they were good.");
  for (const LegFacts& leg : facts.legs) {
    const Labels labels = labels_of(leg.leg);
    for (std::size_t i = 0; i < canary::fault_count; ++i) {
      const auto fault = static_cast<Fault>(i);
      if (leg.state.count(fault) == 0) continue;
      out.sample({{"replica", labels.replica},
                  {"kind", labels.kind},
                  {"protocol", labels.protocol},
                  {"fault", canary::name(fault)}},
                 leg.state.count(fault));
    }
  }
  out.histogram("ebbgate_canary_phase_seconds", "Duration of the phases of probes that got so far.");
  for (const LegFacts& leg : facts.legs) {
    const Labels labels = labels_of(leg.leg);
    for (std::size_t i = 0; i < canary::phase_count; ++i) {
      if (leg.durations.phases[i].count == 0) continue;
      out.sample({{"replica", labels.replica},
                  {"kind", labels.kind},
                  {"protocol", labels.protocol},
                  {"phase", canary::phase_names[i]}},
                 leg.durations.phases[i]);
    }
  }
}

void write_certificates(MetricWriter& out, const canary::ProberFacts& facts) {
  out.gauge("ebbgate_canary_certificate_expires_seconds",
            "When the certificate of the listener expires, in seconds since the epoch, as the last probe has seen it.");
  for (const LegFacts& leg : facts.legs) {
    if (!leg.last || !leg.last->certificate) continue;
    const Labels labels = labels_of(leg.leg);
    const auto expires = leg.last->certificate->expires.time_since_epoch();
    out.sample({{"replica", labels.replica}, {"kind", labels.kind}, {"protocol", labels.protocol}},
               std::chrono::duration<double>(expires).count());
  }
}

}  // namespace

void write_canary_metrics(MetricWriter& out, const canary::ProberFacts& facts) {
  write_as_openshift(out, facts);
  write_conditions(out, facts);
  write_probes(out, facts);
  write_certificates(out, facts);
  out.counter("ebbgate_canary_port_moves", "How often the endpoints were moved to the other port.");
  out.sample({}, facts.port_moves);
  out.counter("ebbgate_canary_connections", "Connections that the prober has opened.");
  out.sample({}, facts.connections);
  out.gauge("ebbgate_canary_sockets", "Sockets of the prober: never more than legs.");
  out.sample({}, std::uint64_t{facts.sockets});
}

}  // namespace ebb::admin
