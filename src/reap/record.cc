#include "reap/record.h"

#include <fmt/format.h>

#include <cstring>

#include "census/json.h"
#include "census/words.h"

namespace ebb::reap {
namespace {

std::string_view words(Outcome outcome) {
  switch (outcome) {
    case Outcome::ended: return "ended";
    case Outcome::would_end: return "would end";
    case Outcome::over_budget: return "over budget, not ended";
    case Outcome::recovered: return "recovered, not ended";
    case Outcome::vanished: return "ended by itself";
    case Outcome::failed: return "could not end";
    case Outcome::not_allowed: return "not allowed, not ended";
  }
  return "";
}

}  // namespace

std::string json_line(const Record& record) {
  std::string out;
  observe::JsonWriter json(out);
  json.begin_object().member("time", record.at).member("event", name(record.outcome));
  json.member("ground", name(record.finding.ground)).member("why", sentence(record.finding.ground));
  if (!record.finding.service.empty()) json.member("service", record.finding.service);
  if (record.finding.ms) json.member("for_ms", *record.finding.ms);
  if (record.error != 0) json.member("error", std::strerror(record.error));
  if (record.outcome == Outcome::ended) json.member("conntrack_deleted", record.entry_deleted);
  json.member("netns", record.owner.netns);
  if (record.owner.pid != 0) {
    json.member("process", record.owner.process).member("pid", record.owner.pid).member("cgroup", record.owner.cgroup);
  }
  census::write_facts(json, record.socket);
  json.end_object();
  return out + "\n";
}

std::string text_line(const Record& record) {
  std::string line =
      fmt::format("{} {} -> {}", words(record.outcome), record.socket.local.text(), census::peer_text(record.socket));
  if (record.owner.pid != 0) line += fmt::format(" of {}/{}", census::harmless(record.owner.process), record.owner.pid);
  line += fmt::format(" in {}: {}", census::harmless(record.owner.netns), sentence(record.finding.ground));
  if (!record.finding.service.empty()) line += fmt::format(" ({})", census::harmless(record.finding.service));
  if (record.finding.ms) line += fmt::format(", for {}", census::duration_text(*record.finding.ms));
  if (record.error != 0) line += fmt::format(": {}", std::strerror(record.error));
  return line + "\n";
}

}  // namespace ebb::reap
