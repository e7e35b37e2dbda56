// /api/v1/drains, for operators and, on a separate listener, for endpoints.
#include <fmt/format.h>

#include <algorithm>

#include "admin/api.h"
#include "admin/api_answers.h"
#include "admin/query.h"
#include "admin/worker_scene.h"
#include "config/values.h"

namespace ebb::admin {
namespace {

using observe::JsonWriter;
using wire::JsonValue;
using wire::Method;

constexpr base::Duration wait_max = std::chrono::seconds{60};

bool same_host(base::Address a, const base::Address& b) {
  a.set_port(b.port());
  return a == b;
}

// "HOST:PORT", which may be an endpoint of several backends; or "backend/name", where either may contain a slash; or ""
// for every endpoint at the caller's address.
struct Question {
  std::string endpoint;
  DrainOptions options;

  bool names(std::string_view backend, std::string_view name, const base::Address& address) const {
    if (const auto wanted = base::Address::parse(endpoint)) return *wanted == address;
    return endpoint.empty() || endpoint == std::string(backend) + "/" + std::string(name);
  }
};

std::expected<Question, Answer> read_question(const Request& request, bool by_endpoint) {
  static constexpr std::string_view known[] = {"endpoint", "serve_if_last"};
  const auto object = read_object(request.body, known);
  if (!object) return std::unexpected(object.error());
  Question question;
  if (const JsonValue* const last = object->find("serve_if_last")) {
    if (last->kind != JsonValue::Kind::boolean) {
      return std::unexpected(error_answer(400, "`serve_if_last` is neither true nor false", "give one of the two"));
    }
    question.options.serve_if_last = last->truth;
  }
  const JsonValue* const endpoint = object->find("endpoint");
  question.options.by_address = endpoint == nullptr;
  if (endpoint == nullptr && by_endpoint) return question;
  if (endpoint == nullptr) {
    return std::unexpected(error_answer(400, "`endpoint` is missing", R"(send {"endpoint": "10.1.0.5:8080"})"));
  }
  if (!endpoint->is_text() || endpoint->text.empty()) {
    return std::unexpected(error_answer(400, "`endpoint` is not a name", "give HOST:PORT or backend/name"));
  }
  question.endpoint = endpoint->text;
  question.options.by_address = base::Address::parse(question.endpoint).has_value();
  return question;
}

std::vector<EndpointPlace> listed_places(const control::Roster& roster, const Question& question) {
  std::vector<EndpointPlace> places;
  for (const control::SharedEndpointList& list : roster.lists()) {
    for (const gate::ListedEndpoint& endpoint : list->endpoints) {
      if (question.names(list->backend, endpoint.name, endpoint.address)) places.push_back({list->backend, endpoint});
    }
  }
  return places;
}

// Endpoints that left the configuration but still have work.
std::vector<EndpointPlace> places_that_left(const EndpointSums& sums, const Question& question) {
  std::vector<EndpointPlace> places;
  for (const BackendSum& sum : sums.backends) {
    for (const gate::EndpointFacts& facts : sum.endpoints) {
      if (facts.membership != lifecycle::Membership::gone) continue;
      if (!question.names(facts.backend, facts.name, facts.address)) continue;
      places.push_back({facts.backend, {.identity = facts.identity, .name = facts.name, .address = facts.address}});
    }
  }
  return places;
}

// How long the caller wants to wait; zero if not given.
std::expected<base::Duration, Answer> read_wait(const Request& request) {
  const auto text = query_value(request.query, "wait");
  if (!text) return base::Duration::zero();
  const auto parsed = config::DurationFormat::parse(*text, {});
  if (!parsed) return std::unexpected(error_answer(400, "`wait` is not a duration", "give one such as 30s"));
  return std::min(*parsed, wait_max);
}

Answer report_answer(const DrainReport& report, int status) {
  std::string body;
  JsonWriter json(body);
  write_drain(json, report);
  Answer answer = json_answer(std::move(body), status);
  if (status == 201) answer.extra = "Location: /api/v1/drains/" + report.id + "\r\n";
  return answer;
}

Answer no_drain() {
  return error_answer(404, "there is no such drain; it may have expired", "POST /api/v1/drains starts one");
}

class DrainApi {
 public:
  DrainApi(Server& server, const Sources& sources, std::shared_ptr<Drains> drains, bool by_endpoint)
      : server_(server), sources_(sources), drains_(std::move(drains)), by_endpoint_(by_endpoint) {}

  void ask(const Request& request, Respond respond) const {
    const auto question = read_question(request, by_endpoint_);
    if (!question) return respond(question.error());
    const auto wait = read_wait(request);
    if (!wait) return respond(wait.error());
    const std::vector<EndpointPlace> places = own(listed_places(*sources_.roster, *question), request.peer);
    if (!places.empty()) return begin(places, question->options, *wait, std::move(respond));
    gather_sums(server_, sources_,
                [this, question = *question, wait = *wait, peer = request.peer,
                 respond = std::move(respond)](const EndpointSums& sums) mutable {
                  const std::vector<EndpointPlace> left = own(places_that_left(sums, question), peer);
                  if (left.empty()) return respond(nothing_there(peer));
                  begin(left, question.options, wait, std::move(respond));
                });
  }
  void show(const Request& request, Respond respond) const {
    if (!may_see(request)) return respond(no_drain());
    const auto wait = read_wait(request);
    if (!wait) return respond(wait.error());
    answer(request.parameters[0], *wait, 200, std::move(respond));
  }
  void end(const Request& request, Respond respond) const {
    if (!may_see(request) || !drains_->end(request.parameters[0])) return respond(no_drain());
    answer(request.parameters[0], base::Duration::zero(), 200, std::move(respond));
  }
  void list(Respond respond) const {
    drains_->list([respond = std::move(respond)](const std::vector<DrainReport>& reports) mutable {
      std::string body;
      JsonWriter json(body);
      json.begin_object().key("drains").begin_array();
      for (const DrainReport& report : reports) write_drain(json, report);
      json.end_array().end_object();
      respond(json_answer(std::move(body)));
    });
  }

 private:
  std::vector<EndpointPlace> own(std::vector<EndpointPlace> places, const base::Address& caller) const {
    std::erase_if(places, [this, &caller](const EndpointPlace& place) {
      return by_endpoint_ && !same_host(place.endpoint.address, caller);
    });
    return places;
  }
  Answer nothing_there(const base::Address& caller) const {
    if (!by_endpoint_) return refusal_answer(control::RosterRefusal::no_endpoint);
    return error_answer(403, "no such endpoint has the address " + caller.host_text(),
                        "ask from the endpoint's own address, or ask the admin API with its token");
  }
  void begin(const std::vector<EndpointPlace>& places, const DrainOptions& options, base::Duration wait,
             Respond respond) const {
    const auto asked = drains_->ask(places, options);
    if (!asked) return respond(error_answer(503, "too many drains are in progress", "try again later"));
    answer(asked->id, wait, asked->joined ? 200 : 201, std::move(respond));
  }
  bool may_see(const Request& request) const {
    const auto* const endpoints = drains_->endpoints(request.parameters[0]);
    if (endpoints == nullptr) return false;
    return !by_endpoint_ || std::ranges::all_of(*endpoints, [&request](const DrainedEndpoint& endpoint) {
      return same_host(endpoint.address, request.peer);
    });
  }
  void answer(const std::string& id, base::Duration wait, int status, Respond respond) const {
    drains_->wait(id, wait, [status, respond = std::move(respond)](const DrainReport& report) mutable {
      respond(report_answer(report, status));
    });
  }

  Server& server_;
  const Sources& sources_;
  const std::shared_ptr<Drains> drains_;
  const bool by_endpoint_;
};

}  // namespace

void add_drain_api(Server& server, const Sources& sources, const std::shared_ptr<Drains>& drains) {
  constexpr const char* all = "/api/v1/drains";
  constexpr const char* one = "/api/v1/drains/{id}";
  const auto add = [&](const std::shared_ptr<DrainApi>& api, auto&& route) {
    route(Method::post, all, [api](const Request& request, Respond respond) { api->ask(request, std::move(respond)); });
    route(Method::get, one, [api](const Request& request, Respond respond) { api->show(request, std::move(respond)); });
    route(Method::delete_, one,
          [api](const Request& request, Respond respond) { api->end(request, std::move(respond)); });
  };
  const auto operators = std::make_shared<DrainApi>(server, sources, drains, false);
  add(operators,
      [&](Method method, const char* path, admin::Handler handler) { server.add(method, path, std::move(handler)); });
  server.add(all, [operators](const Request&, Respond respond) { operators->list(std::move(respond)); });
  add(std::make_shared<DrainApi>(server, sources, drains, true),
      [&](Method method, const char* path, admin::Handler handler) {
        server.add_for_endpoints(method, path, std::move(handler));
      });
}

}  // namespace ebb::admin
