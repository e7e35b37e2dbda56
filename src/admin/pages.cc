#include "admin/pages.h"

#include <fmt/format.h>

#include "admin/ask_workers.h"
#include "admin/canary_metrics.h"
#include "admin/openapi.h"
#include "observe/exposition.h"
#include "observe/json_writer.h"

namespace ebb::admin {
namespace {

struct Alive {};

template <class Reply>
std::string silent_workers(const Replies<Reply>& replies) {
  std::string list;
  for (std::size_t worker = 0; worker < replies.size(); ++worker) {
    if (replies[worker].has_value()) continue;
    if (!list.empty()) list += ", ";
    list += std::to_string(worker);
  }
  return list;
}

Answer health_answer(const Replies<Alive>& replies) {
  const std::string silent = silent_workers(replies);
  if (silent.empty()) return {.body = "ok\n"};
  return plain_answer(503, "did not answer in time: worker " + silent);
}

Answer readiness_answer(const Readiness& readiness) {
  return {.status = readiness.ready ? 200 : 503,
          .body = fmt::format("{}: {}\n", readiness.ready ? "ready" : "not ready", readiness.reason)};
}

// `own`: the admin server's own counters.
Answer metrics_answer(const Sources& sources, observe::MetricFormat format, const observe::Counters& own,
                      const Replies<observe::Counters>& replies) {
  observe::Counters sum = own;
  std::uint64_t silent = 0;
  for (const auto& counters : replies) {
    if (counters) {
      sum.add(*counters);
    } else {
      silent += 1;
    }
  }
  const observe::Scrape scrape{
      .counters = sum,
      .labels = *sources.labels,
      .client_states = sources.client_states,
      .backend_states = sources.backend_states,
      .health_states = sources.health_states,
      .workers = replies.size(),
      .workers_silent = silent,
      .log_losses = sources.log_losses ? sources.log_losses() : observe::AccessLog::Losses{},
      .audit = sources.audit ? sources.audit() : observe::AuditReport{},
      .process = observe::read_process_facts(),
      .version = sources.version,
      .more =
          [canary = sources.canary ? sources.canary() : nullptr](observe::MetricWriter& out) {
            if (canary != nullptr) write_canary_metrics(out, *canary);
          },
  };
  Answer answer{.content_type = std::string(observe::content_type(format))};
  observe::write_exposition(scrape, format, answer.body);
  return answer;
}

Answer config_answer(const ConfigStatus& status) {
  Answer answer{.content_type = "application/json"};
  observe::JsonWriter json(answer.body);
  json.begin_object()
      .member("generation", status.generation)
      .member("digest", status.digest)
      .member("applied_at", status.applied_at);
  json.key("last_refusal");
  if (status.last_refusal) {
    json.begin_object()
        .member("at", status.last_refusal->at)
        .member("reason", status.last_refusal->reason)
        .end_object();
  } else {
    json.null();
  }
  json.end_object();
  answer.body += '\n';
  return answer;
}

}  // namespace

void add_pages(Server& server, const Sources& sources, base::Duration timeout) {
  server.add("/healthz", [&server, &sources, timeout](const Request&, Respond respond) {
    ask_workers<Alive>(
        sources, server.door(), server.alarms(), timeout, [](std::size_t) { return Alive{}; },
        [respond = std::move(respond)](const Replies<Alive>& replies) mutable { respond(health_answer(replies)); });
  });
  server.add("/readyz",
             [&sources](const Request&, Respond respond) { respond(readiness_answer(sources.readiness())); });
  server.add("/metrics", [&server, &sources, timeout](const Request& request, Respond respond) {
    const observe::MetricFormat format = observe::choose_metric_format(request.accept);
    ask_workers<observe::Counters>(
        sources, server.door(), server.alarms(), timeout, sources.counters,
        [&server, &sources, format, respond = std::move(respond)](const Replies<observe::Counters>& replies) mutable {
          observe::Counters own;
          own.missing_transitions = server.missing_transitions();
          respond(metrics_answer(sources, format, own, replies));
        });
  });
  server.add("/api/v1/openapi.json", [](const Request&, Respond respond) {
    respond({.content_type = "application/json", .body = std::string(openapi_document())});
  });
  server.add("/api/v1/config",
             [&sources](const Request&, Respond respond) { respond(config_answer(sources.config())); });
}

}  // namespace ebb::admin
