// /api/v1/canary: whether each leg to each replica works.
#include "admin/api.h"
#include "admin/api_answers.h"

namespace ebb::admin {
namespace {

using canary::LegFacts;
using observe::JsonWriter;

void write_time(JsonWriter& json, base::WallTime at) { at == base::WallTime{} ? json.null() : json.value(at); }

void write_text(JsonWriter& json, std::string_view name, const std::optional<std::string>& text) {
  json.key(name);
  text ? json.value(*text) : json.null();
}

void write_condition(JsonWriter& json, const canary::Condition& condition) {
  json.begin_object()
      .member("type", canary::Condition::type)
      .member("status", canary::name(condition.status))
      .member("reason", condition.reason)
      .member("message", condition.message)
      .key("since");
  write_time(json, condition.since);
  json.end_object();
}

void write_span(JsonWriter& json, const canary::LegState::Span& seen) {
  json.member("count", seen.count).member("first", seen.first).member("last", seen.last);
}

void write_certificate(JsonWriter& json, const canary::ProbeResult& last) {
  json.begin_object()
      .member("subject", last.certificate->subject)
      .member("issuer", last.certificate->issuer)
      .member("expires", last.certificate->expires)
      .member("expires_soon", last.expires_soon)
      .member("verified", last.certificate->verified)
      .end_object();
}

void write_last(JsonWriter& json, const canary::ProbeResult& last) {
  json.begin_object()
      .member("at", last.at)
      .member("fault", canary::name(last.judgement.fault))
      .member("detail", last.judgement.detail)
      .member("peer", last.peer)
      .member("reused", last.reused)
      .member("tls", last.tls)
      .key("phases_us")
      .begin_object();
  for (std::size_t i = 0; i < canary::phase_count; ++i) {
    const auto& took = last.phases[static_cast<canary::Phase>(i)];
    if (!took) continue;
    json.member(canary::phase_names[i], std::chrono::duration_cast<std::chrono::microseconds>(*took).count());
  }
  json.end_object().member("status", last.answer.status);
  write_text(json, "port", last.answer.port);
  write_text(json, "pod", last.answer.pod);
  write_text(json, "node", last.answer.node);
  write_text(json, "generation", last.answer.generation);
  write_text(json, "configuration", last.answer.configuration);
  json.key("certificate");
  last.certificate ? write_certificate(json, last) : void(json.null());
  json.end_object();
}

void write_cause(JsonWriter& json, const canary::LegState::Cause& cause) {
  json.begin_object()
      .member("fault", canary::name(cause.fault))
      .member("meaning", canary::facts(cause.fault).words)
      .member("remedy", canary::facts(cause.fault).remedy);
  write_span(json, cause.seen);
  json.end_object();
}

void write_leg(JsonWriter& json, const LegFacts& facts) {
  const canary::Leg& leg = facts.leg;
  json.begin_object()
      .member("name", leg.name())
      .member("replica", leg.replica)
      .member("kind", canary::name(leg.kind))
      .member("protocol", canary::name(leg.protocol))
      .member("address", (leg.host.contains(':') ? "[" + leg.host + "]" : leg.host) + ":" + std::to_string(leg.port))
      .member("host", leg.authority)
      .member("path", leg.path)
      .key("condition");
  write_condition(json, facts.state.condition());
  json.member("probes", facts.state.probes())
      .member("bad_lately", facts.state.bad_lately())
      .member("seen_lately", facts.state.seen_lately())
      .key("cause");
  const auto cause = facts.state.cause();
  cause ? write_cause(json, *cause) : void(json.null());
  json.key("errors").begin_array();
  for (const canary::LegState::Error& error : facts.state.errors()) {
    json.begin_object().member("fault", canary::name(error.what.fault)).member("detail", error.what.detail);
    write_span(json, error.seen);
    json.end_object();
  }
  json.end_array().key("last");
  facts.last ? write_last(json, *facts.last) : void(json.null());
  json.end_object();
}

Answer canary_answer(const canary::ProberFacts& facts, bool configured) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().member("configured", configured).key("condition");
  write_condition(json, facts.condition);
  json.key("wanted_port");
  facts.wanted_port ? json.value(*facts.wanted_port) : json.null();
  json.member("port_moves", facts.port_moves)
      .member("sockets", facts.sockets)
      .member("connections_total", facts.connections)
      .key("legs")
      .begin_array();
  for (const LegFacts& leg : facts.legs) write_leg(json, leg);
  json.end_array().end_object();
  return json_answer(std::move(body));
}

}  // namespace

void add_canary_api(Server& server, const Sources& sources) {
  server.add("/api/v1/canary", [&sources](const Request&, Respond respond) {
    const auto facts = sources.canary ? sources.canary() : nullptr;
    respond(facts != nullptr ? canary_answer(*facts, true) : canary_answer({.condition = canary::sum_up({})}, false));
  });
}

}  // namespace ebb::admin
