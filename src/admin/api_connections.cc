// /api/v1/connections: lists client connections, and ends one.
#include <fmt/format.h>

#include <charconv>

#include "admin/api.h"
#include "admin/api_answers.h"
#include "admin/ask_workers.h"
#include "admin/pages.h"
#include "admin/query.h"
#include "config/values.h"

namespace ebb::admin {
namespace {

using observe::JsonWriter;
using Facts = std::vector<gate::ConnectionFacts>;

constexpr std::size_t limit_max = 100'000;

// The name consists of the worker and the connection's handle; it is not reused while the router runs.
std::string name_of(std::size_t worker, base::Handle handle) {
  return fmt::format("{}-{}-{}", worker, handle.slot, handle.generation);
}

struct Named {
  std::size_t worker = 0;
  base::Handle handle;
};

std::optional<Named> read_name(std::string_view text) {
  Named named;
  std::uint32_t* const parts[] = {&named.handle.slot, &named.handle.generation};
  const char* const end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, named.worker);
  for (std::uint32_t* const part : parts) {
    if (parsed.ec != std::errc() || parsed.ptr == end || *parsed.ptr != '-') return std::nullopt;
    parsed = std::from_chars(parsed.ptr + 1, end, *part);
  }
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return named;
}

std::expected<gate::ConnectionFilter, Answer> read_filter(std::string_view query) {
  gate::ConnectionFilter filter;
  filter.backend = query_value(query, "backend").value_or("");
  filter.endpoint = query_value(query, "endpoint").value_or("");
  filter.client = query_value(query, "client").value_or("");
  filter.state = query_value(query, "state").value_or("");
  if (const auto text = query_value(query, "idle_for")) {
    const auto parsed = config::DurationFormat::parse(*text, {});
    if (!parsed) return std::unexpected(error_answer(400, "`idle_for` is not a duration", "give one such as 30s"));
    filter.idle_for = *parsed;
  }
  if (const auto text = query_value(query, "limit")) {
    const auto parsed = std::from_chars(text->data(), text->data() + text->size(), filter.limit);
    if (parsed.ptr != text->data() + text->size() || filter.limit > limit_max) {
      return std::unexpected(error_answer(400, "`limit` is out of range", "give 1 to 100000"));
    }
  }
  return filter;
}

void write_exchange(JsonWriter& json, const gate::ExchangeFacts& exchange) {
  json.begin_object()
      .member("state", exchange.state)
      .member("route", exchange.route)
      .member("backend", exchange.backend)
      .member("endpoint", exchange.endpoint)
      .member("address", exchange.address.valid() ? exchange.address.text() : "")
      .member("age_ms", base::to_ms(exchange.age))
      .member("request_bytes", exchange.request_bytes)
      .member("response_bytes", exchange.response_bytes)
      .end_object();
}

Answer connections_answer(const Replies<Facts>& replies, std::size_t limit) {
  std::string body;
  JsonWriter json(body);
  std::size_t shown = 0;
  bool more = false;
  json.begin_object().key("connections").begin_array();
  for (std::size_t worker = 0; worker < replies.size(); ++worker) {
    if (!replies[worker]) continue;
    for (const gate::ConnectionFacts& facts : *replies[worker]) {
      if (shown == limit) {
        more = true;
        break;
      }
      shown += 1;
      json.begin_object()
          .member("id", name_of(worker, facts.handle))
          .member("client", facts.client.text())
          .member("listener", facts.listener)
          .member("protocol", facts.protocol)
          .member("state", facts.state)
          .member("age_ms", base::to_ms(facts.age))
          .member("in_state_ms", base::to_ms(facts.in_state));
      json.key("exchanges").begin_array();
      for (const gate::ExchangeFacts& exchange : facts.exchanges) write_exchange(json, exchange);
      json.end_array().end_object();
    }
  }
  json.end_array().member("more", more).end_object();
  return json_answer(std::move(body));
}

Answer no_connection() {
  return error_answer(404, "there is no such connection; it may have ended", "GET /api/v1/connections lists them");
}

}  // namespace

void add_connection_api(Server& server, const Sources& sources) {
  server.add("/api/v1/connections", [&](const Request& request, Respond respond) {
    const auto filter = read_filter(request.query);
    if (!filter) return respond(filter.error());
    // Request one more than wanted, to know whether there are more.
    gate::ConnectionFilter wider = *filter;
    wider.limit += 1;
    ask_workers<Facts>(
        sources, server.door(), server.alarms(), worker_timeout,
        [&sources, wider](std::size_t worker) { return sources.connections(worker, wider); },
        [limit = filter->limit, respond = std::move(respond)](const Replies<Facts>& replies) mutable {
          respond(connections_answer(replies, limit));
        });
  });
  server.add(wire::Method::delete_, "/api/v1/connections/{id}", [&sources](const Request& request, Respond respond) {
    const auto named = read_name(request.parameters[0]);
    if (!named || named->worker >= sources.workers) return respond(no_connection());
    sources.post(named->worker, [&sources, named = *named, respond = std::move(respond)]() mutable {
      const bool ended = sources.end_connection(named.worker, named.handle);
      respond(ended ? Answer{.status = 204} : no_connection());
    });
  });
}

}  // namespace ebb::admin
