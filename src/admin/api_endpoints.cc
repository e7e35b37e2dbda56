// /api/v1/backends and /api/v1/endpoints.
#include <charconv>

#include "admin/api.h"
#include "admin/api_answers.h"
#include "admin/pages.h"
#include "admin/worker_scene.h"
#include "routes/spelling.h"

namespace ebb::admin {
namespace {

using control::Roster;
using lifecycle::Wish;
using observe::JsonWriter;
using wire::JsonValue;
using wire::Method;

constexpr std::uint32_t weight_max = 256;

constexpr std::string_view workers_silent = "workers_silent";

void write_backend_members(JsonWriter& json, const BackendSum& sum) {
  std::size_t chosen = 0;
  for (const gate::EndpointFacts& facts : sum.endpoints) {
    const auto standing = lifecycle::standing({facts.membership, facts.wish, facts.health, facts.why});
    if (standing == lifecycle::Standing::chosen) chosen += 1;
  }
  json.member("name", sum.facts.name).member("endpoints_total", sum.endpoints.size()).member("endpoints_ready", chosen);
  json.key("queue")
      .begin_object()
      .member("waiting", sum.facts.queued)
      .member("waited_total", sum.facts.queued_ever)
      .member("timeouts", sum.facts.queue_timeouts)
      .end_object();
}

Answer backends_answer(const EndpointSums& sums) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("backends").begin_array();
  for (const BackendSum& sum : sums.backends) {
    json.begin_object();
    write_backend_members(json, sum);
    json.end_object();
  }
  json.end_array().member(workers_silent, sums.workers_silent).end_object();
  return json_answer(std::move(body));
}

Answer backend_answer(const EndpointSums& sums, std::string_view name) {
  for (const BackendSum& sum : sums.backends) {
    if (sum.facts.name != name) continue;
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    write_backend_members(json, sum);
    json.key("endpoints").begin_array();
    for (const gate::EndpointFacts& facts : sum.endpoints) write_endpoint(json, facts);
    json.end_array().member(workers_silent, sums.workers_silent).end_object();
    return json_answer(std::move(body));
  }
  return refusal_answer(control::RosterRefusal::no_backend);
}

Answer endpoints_answer(const EndpointSums& sums) {
  std::string body;
  JsonWriter json(body);
  json.begin_object().key("endpoints").begin_array();
  for (const BackendSum& sum : sums.backends) {
    for (const gate::EndpointFacts& facts : sum.endpoints) write_endpoint(json, facts);
  }
  json.end_array().member(workers_silent, sums.workers_silent).end_object();
  return json_answer(std::move(body));
}

Answer endpoint_answer(const EndpointSums& sums, std::string_view backend, std::string_view name, int status) {
  for (const BackendSum& sum : sums.backends) {
    if (sum.facts.name != backend) continue;
    for (const gate::EndpointFacts& facts : sum.endpoints) {
      if (facts.name != name) continue;
      std::string body;
      JsonWriter json(body);
      json.begin_object();
      write_endpoint_members(json, facts);
      json.member(workers_silent, sums.workers_silent).end_object();
      return json_answer(std::move(body), status);
    }
  }
  return refusal_answer(control::RosterRefusal::no_endpoint);
}

// The settings in a body; each may be missing.
struct Wanted {
  std::optional<std::string> name;
  std::optional<Wish> wish;
  std::optional<std::uint32_t> weight;
  std::optional<base::Address> address;
};

std::expected<Wanted, Answer> read_wanted(std::string_view body, std::span<const std::string_view> known) {
  const auto object = read_object(body, known);
  if (!object) return std::unexpected(object.error());
  Wanted wanted;
  if (const JsonValue* const name = object->find("name")) {
    if (!name->is_text() || !routes::is_name(name->text)) {
      return std::unexpected(
          error_answer(400, "`name` is not a usable name",
                       "give 1 to 253 visible ASCII characters without spaces, quotes and backslashes"));
    }
    wanted.name = name->text;
  }
  if (const JsonValue* const wish = object->find("wish")) {
    const auto found = std::ranges::find(lifecycle::wish_names, wish->text);
    if (!wish->is_text() || found == std::end(lifecycle::wish_names)) {
      return std::unexpected(error_answer(400, "`wish` is unknown", "give ready, drain or maint"));
    }
    wanted.wish = static_cast<Wish>(found - std::begin(lifecycle::wish_names));
  }
  if (const JsonValue* const weight = object->find("weight")) {
    std::uint32_t number = 0;
    const char* const end = weight->text.data() + weight->text.size();
    const auto parsed = std::from_chars(weight->text.data(), end, number);
    if (weight->kind != JsonValue::Kind::number || parsed.ptr != end || number > weight_max) {
      return std::unexpected(error_answer(400, "`weight` is out of range", "give 0 (no new work) to 256"));
    }
    wanted.weight = number;
  }
  if (const JsonValue* const address = object->find("address")) {
    const auto parsed = address->is_text() ? base::Address::parse(address->text) : std::nullopt;
    if (!parsed || parsed->port() == 0) {
      return std::unexpected(
          error_answer(400, "`address` is not an address with a port", "give one such as 10.1.0.5:8080"));
    }
    wanted.address = *parsed;
  }
  return wanted;
}

Roster::Outcome change(Roster& roster, const std::string& backend, const std::string& name, const Wanted& wanted) {
  Roster::Outcome outcome = roster.find(backend, name);
  if (outcome && wanted.address) outcome = roster.set_address(backend, name, *wanted.address);
  if (outcome && wanted.weight) outcome = roster.set_weight(backend, name, *wanted.weight);
  if (outcome && wanted.wish) outcome = roster.set_wish(backend, name, *wanted.wish);
  return outcome;
}

}  // namespace

void add_endpoint_api(Server& server, const Sources& sources) {
  const auto shared = std::make_shared<SharedSums>(server, sources);
  server.add("/api/v1/backends", [shared](const Request&, Respond respond) {
    shared->ask([respond = std::move(respond)](const auto& sums) mutable { respond(backends_answer(sums)); });
  });
  server.add("/api/v1/backends/{backend}", [shared](const Request& request, Respond respond) {
    shared->ask([name = request.parameters[0], respond = std::move(respond)](const auto& sums) mutable {
      respond(backend_answer(sums, name));
    });
  });
  server.add("/api/v1/endpoints", [shared](const Request&, Respond respond) {
    shared->ask([respond = std::move(respond)](const auto& sums) mutable { respond(endpoints_answer(sums)); });
  });

  // The question follows the change through the workers' mailboxes, so the answer shows the endpoint after the change.
  const auto answer_with = [shared](std::string backend, std::string name, int status, Respond respond) {
    shared->ask([backend = std::move(backend), name = std::move(name), status, respond = std::move(respond)](
                    const auto& sums) mutable { respond(endpoint_answer(sums, backend, name, status)); });
  };
  constexpr const char* one = "/api/v1/backends/{backend}/endpoints/{endpoint}";
  server.add(one, [answer_with](const Request& request, Respond respond) {
    answer_with(request.parameters[0], request.parameters[1], 200, std::move(respond));
  });
  server.add(Method::patch, one, [&sources, answer_with](const Request& request, Respond respond) {
    static constexpr std::string_view known[] = {"wish", "weight", "address"};
    const auto wanted = read_wanted(request.body, known);
    if (!wanted) return respond(wanted.error());
    const auto outcome = change(*sources.roster, request.parameters[0], request.parameters[1], *wanted);
    if (!outcome) return respond(refusal_answer(outcome.error()));
    answer_with(request.parameters[0], request.parameters[1], 200, std::move(respond));
  });
  server.add(Method::delete_, one, [&server, &sources](const Request& request, Respond respond) {
    const auto found = sources.roster->find(request.parameters[0], request.parameters[1]);
    if (!found) return respond(refusal_answer(found.error()));
    ask_workers<gate::InFlight>(
        sources, server.door(), server.alarms(), worker_timeout,
        [&sources, identity = found->identity](std::size_t worker) { return sources.in_flight(worker, identity); },
        [&sources, backend = request.parameters[0], name = request.parameters[1],
         respond = std::move(respond)](const Replies<gate::InFlight>& replies) mutable {
          gate::InFlight sum;
          for (const auto& reply : replies) sum.add(reply.value_or(gate::InFlight{.sent = 1}));
          if (sum.total() > 0) {
            return respond(error_answer(409, "the endpoint still has work", "drain it and wait, or try again later"));
          }
          const auto outcome = sources.roster->remove(backend, name);
          if (!outcome) return respond(refusal_answer(outcome.error()));
          respond({.status = 204, .body = ""});
        });
  });
  server.add(Method::post, "/api/v1/backends/{backend}/endpoints",
             [&sources, answer_with](const Request& request, Respond respond) {
               static constexpr std::string_view known[] = {"name", "address", "weight", "wish"};
               const auto wanted = read_wanted(request.body, known);
               if (!wanted) return respond(wanted.error());
               if (!wanted->name || !wanted->address) {
                 return respond(error_answer(400, "an endpoint needs a name and an address",
                                             R"(send {"name": "c", "address": "10.1.0.7:8080"})"));
               }
               const auto outcome =
                   sources.roster->add(request.parameters[0], {.name = *wanted->name,
                                                               .address = *wanted->address,
                                                               .weight = wanted->weight.value_or(1),
                                                               .wish = wanted->wish.value_or(Wish::ready)});
               if (!outcome) return respond(refusal_answer(outcome.error()));
               answer_with(request.parameters[0], *wanted->name, 201, std::move(respond));
             });
}

}  // namespace ebb::admin
