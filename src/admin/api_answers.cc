#include "admin/api_answers.h"

#include <fmt/format.h>

#include <algorithm>

namespace ebb::admin {

using observe::JsonWriter;

Answer json_answer(std::string body, int status) {
  body += '\n';
  return {.status = status, .content_type = "application/json", .body = std::move(body)};
}

Answer error_answer(int status, std::string_view reason, std::string_view remedy) {
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("error")
      .begin_object()
      .member("status", status)
      .member("reason", reason)
      .member("remedy", remedy)
      .end_object()
      .end_object();
  return json_answer(std::move(body), status);
}

Answer refusal_answer(control::RosterRefusal refusal) {
  using enum control::RosterRefusal;
  switch (refusal) {
    case no_backend: return error_answer(404, "there is no such backend", "GET /api/v1/backends lists them");
    case no_endpoint: return error_answer(404, "there is no such endpoint", "GET /api/v1/endpoints lists them");
    case name_taken:
      return error_answer(409, "the backend already has an endpoint of that name", "give it another name");
    case not_in_maintenance:
      return error_answer(409, "only endpoints in maintenance can be removed",
                          "PATCH it with {\"wish\": \"maint\"} first");
    case too_many:
      return error_answer(507, "too many endpoints were added at run time", "list them in the configuration");
  }
  return error_answer(500, "the change was refused", "");
}

std::expected<wire::JsonValue, Answer> read_object(std::string_view body, std::span<const std::string_view> known) {
  if (body.empty()) return wire::JsonValue{.kind = wire::JsonValue::Kind::object};
  auto value = wire::read_json(body);
  if (!value) {
    return std::unexpected(
        error_answer(400, fmt::format("the body is not JSON: {}, at byte {}", value.error().why, value.error().at),
                     "send one JSON object"));
  }
  if (value->kind != wire::JsonValue::Kind::object) {
    return std::unexpected(error_answer(400, "the body is not an object", "send one JSON object"));
  }
  for (const wire::JsonMember& member : value->members) {
    if (std::ranges::find(known, member.name) != known.end()) continue;
    return std::unexpected(error_answer(400, "there is no member \"" + member.name + "\"",
                                        fmt::format("known are {}", fmt::join(known, ", "))));
  }
  return std::move(*value);
}

void write_in_flight(JsonWriter& json, const gate::InFlight& in_flight) {
  json.begin_object()
      .member("connecting", in_flight.connecting)
      .member("sent", in_flight.sent)
      .member("streaming", in_flight.streaming)
      .member("tunnels", in_flight.tunnels)
      .member("total", in_flight.total())
      .end_object();
}

namespace {

void write_check(JsonWriter& json, const gate::CheckFacts& check) {
  const gate::CheckOutcomeFacts& outcome = gate::facts(check.last.outcome);
  json.begin_object()
      .member("state", lifecycle::CheckLife::state_names[static_cast<std::size_t>(check.state)])
      .member("outcome", outcome.name)
      .member("words", outcome.words);
  json.key("status");
  if (check.last.status == 0) {
    json.null();
  } else {
    json.value(check.last.status);
  }
  json.key("at");
  if (check.at == base::WallTime{}) {
    json.null();
  } else {
    json.value(check.at);
  }
  json.member("taken_ms", base::to_ms(check.taken))
      .member("in_a_row", check.in_a_row)
      .member("passed", check.passed)
      .member("failed", check.failed)
      .end_object();
}

}  // namespace

void write_endpoint(JsonWriter& json, const gate::EndpointFacts& facts) {
  json.begin_object();
  write_endpoint_members(json, facts);
  json.end_object();
}

void write_endpoint_members(JsonWriter& json, const gate::EndpointFacts& facts) {
  const bool ill = facts.health == lifecycle::Health::suspect || facts.health == lifecycle::Health::down;
  json.member("backend", facts.backend)
      .member("name", facts.name)
      .member("address", facts.address.text())
      .member("weight", facts.weight)
      .member("membership", lifecycle::membership_names[static_cast<std::size_t>(facts.membership)])
      .member("wish", lifecycle::wish_names[static_cast<std::size_t>(facts.wish)])
      .member("health", lifecycle::HealthLife::state_names[static_cast<std::size_t>(facts.health)]);
  json.key("cause");
  if (ill) {
    json.value(base::name(facts.why));
  } else {
    json.null();
  }
  json.member("silence", lifecycle::doubt_names[static_cast<std::size_t>(facts.doubt)]);
  json.key("since");
  if (facts.since == base::WallTime{}) {
    json.null();
  } else {
    json.value(facts.since);
  }
  json.key("check");
  if (facts.check) {
    write_check(json, *facts.check);
  } else {
    json.null();
  }
  json.key("in_flight");
  write_in_flight(json, facts.in_flight);
  json.member("connections", facts.connections).member("idle", facts.idle);
  json.key("counters")
      .begin_object()
      .member("requests", facts.tally.requests)
      .member("failures", facts.tally.failures)
      .member("retries", facts.tally.retries)
      .member("trials", facts.tally.trials)
      .member("trials_failed", facts.tally.trials_failed)
      .member("moved", facts.tally.moved)
      .member("connects", facts.tally.connects)
      .member("connect_failures", facts.tally.connect_failures)
      .member("bytes_in", facts.tally.bytes_in)
      .member("bytes_out", facts.tally.bytes_out);
  json.key("responses").begin_object();
  for (std::size_t i = 1; i < std::size(facts.tally.by_class); ++i)
    json.member(fmt::format("{}xx", i), facts.tally.by_class[i]);
  json.end_object().end_object();
}

void write_drain(JsonWriter& json, const DrainReport& report) {
  std::uint64_t cut = 0;
  json.begin_object()
      .member("id", report.id)
      .member("state", drain_state_names[static_cast<std::size_t>(report.state)])
      .member("drained", report.state == DrainState::drained)
      .member("asked_at", report.asked_at);
  json.key("drained_at");
  if (report.drained_at) {
    json.value(*report.drained_at);
  } else {
    json.null();
  }
  json.key("endpoints").begin_array();
  for (const DrainedEndpoint& endpoint : report.endpoints) {
    json.begin_object()
        .member("backend", endpoint.backend)
        .member("name", endpoint.name)
        .member("address", endpoint.address.text());
    json.key("in_flight");
    write_in_flight(json, endpoint.in_flight);
    json.member("cut", endpoint.in_flight.cut).end_object();
    cut += endpoint.in_flight.cut;
  }
  json.end_array().member("cut", cut).member("workers_silent", report.workers_silent).end_object();
}

}  // namespace ebb::admin
