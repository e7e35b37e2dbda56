// /api/v1/audit: differences between the router's book and the kernel.
#include "admin/api.h"
#include "admin/api_answers.h"

namespace ebb::admin {
namespace {

using observe::JsonWriter;

std::string text_of(const base::Address& address) { return address.valid() ? address.text() : ""; }

void write_held(JsonWriter& json, const observe::FoundDifference& found) {
  const observe::Claim& held = *found.last_held;
  json.begin_object()
      .member("by", found.held_by)
      .member("as", observe::name(held.kind))
      .member("inode", held.inode)
      .key("failure");
  held.failure == base::Cause::none ? json.null() : json.value(base::name(held.failure));
  json.member("whose", found.history.whose)
      .member("peer", text_of(found.history.peer))
      .member("state", found.history.state)
      .member("age_ms", base::to_ms(found.history.age))
      .end_object();
}

void write_difference(JsonWriter& json, const observe::FoundDifference& found) {
  const observe::Difference& difference = found.difference;
  json.begin_object()
      .member("difference", observe::facts(difference.kind).name)
      .member("meaning", observe::facts(difference.kind).words)
      .member("found_at", found.found_at)
      .member("descriptor", difference.descriptor)
      .member("inode", difference.inode)
      .member("object", found.kernel.object)
      .member("local", text_of(found.kernel.local))
      .member("remote", text_of(found.kernel.remote))
      .member("tcp_state", found.kernel.tcp_state)
      .key("held");
  found.last_held ? write_held(json, found) : void(json.null());
  json.end_object();
}

Answer audit_answer(const observe::AuditReport& report) {
  std::string body;
  JsonWriter json(body);
  json.begin_object()
      .member("every_ms", base::to_ms(report.every))
      .member("runs", report.runs)
      .member("runs_incomplete", report.runs_incomplete)
      .key("last_at");
  report.runs == 0 ? json.null() : json.value(report.last_at);
  json.member("open", report.open).key("held").begin_object();
  for (std::size_t kind = 0; kind < report.claimed.size(); ++kind) {
    json.member(observe::claim_kind_names[kind], report.claimed[kind]);
  }
  json.end_object().member("differences_total", report.differences).key("differences").begin_array();
  for (const observe::FoundDifference& found : report.shown) write_difference(json, found);
  json.end_array().end_object();
  return json_answer(std::move(body));
}

}  // namespace

void add_audit_api(Server& server, const Sources& sources) {
  server.add("/api/v1/audit", [&sources](const Request&, Respond respond) {
    respond(audit_answer(sources.audit ? sources.audit() : observe::AuditReport{}));
  });
}

}  // namespace ebb::admin
