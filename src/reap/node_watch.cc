#include "reap/node_watch.h"

#include <algorithm>

#include "census/spaces.h"
#include "observe/json_writer.h"

namespace ebb::reap {
namespace {

base::Address host_of(base::Address end) {
  end.set_port(0);
  return end;
}

// The file of a namespace with a name from census::all_spaces().
std::string path_of(const std::string& space) {
  constexpr std::string_view by_process = "pid ";
  if (space == "this") return "";
  if (space.starts_with(by_process)) return "/proc/" + space.substr(by_process.size()) + "/ns/net";
  return census::named_space(space).path;
}

}  // namespace

void NodeWatch::know(const Truth& truth) {
  node_names_.clear();
  for (const Service& service : truth.services) {
    for (const Endpoint& endpoint : service.endpoints) {
      if (!endpoint.node.empty()) node_names_.insert_or_assign(host_of(endpoint.address), endpoint.node);
    }
  }
}

void NodeWatch::forget() {
  suspicion_ = {};
  knocks_ = {};
  publish();
}

std::string NodeWatch::node_of(const base::Address& host) const {
  const auto found = node_names_.find(host);
  return found == node_names_.end() ? "" : found->second;
}

// The namespaces that a glance skips could only show that the node lives.
bool NodeWatch::wants_look(const census::Sample& glanced) const {
  const auto nodes = gather_evidence(glanced, [this](const base::Address& host) { return node_of(host); });
  return !suspicion_.records().empty() || std::ranges::any_of(nodes, &NodeEvidence::may_become_silent);
}

void NodeWatch::look(base::Instant began, const census::Sample& sample) {
  const auto nodes = gather_evidence(sample, [this](const base::Address& host) { return node_of(host); });
  for (const Suspicion::Change& change : suspicion_.look(began, nodes)) tell(change);
  for (const Suspicion::Knock& each : suspicion_.take_knocks(clock_.now())) {
    const NodeEvidence& evidence = each.evidence;
    knocks_.start(clock_.now(), evidence.node, evidence.witness, path_of(evidence.space), each.times);
  }
  tend_knocks();
}

bool NodeWatch::tend_knocks() {
  const std::uint64_t reported_before = suspicion_.reported_total();
  for (const NodeKnocks::Finished& each : knocks_.tend(clock_.now())) {
    if (const auto change = suspicion_.knocked(clock_.now(), each.node, each.result)) tell(*change);
  }
  publish();
  return suspicion_.reported_total() != reported_before;
}

bool NodeWatch::is_reported(const base::Address& end) const {
  const base::Address host = host_of(end);
  const std::string name = node_of(host);
  return suspicion_.is_reported(name.empty() ? host.host_text() : name);
}

void NodeWatch::tell(const Suspicion::Change& change) {
  using News = Suspicion::News;
  constexpr std::string_view events[] = {"node_suspected", "node_reported", "node_cleared", "node_recovered",
                                         "node_forgotten"};
  const auto level = change.news == News::reported ? observe::EventLog::Level::warning : observe::EventLog::Level::info;
  const std::string sockets = std::to_string(change.evidence.sockets);
  const std::string stalled = std::to_string(change.evidence.stalled.sockets);
  const std::string knocked = change.evidence.witness.text();
  const std::string lasted = std::to_string(base::to_ms(change.lasted));
  const observe::EventLog::Field fields[] = {{"node", change.node},
                                             {"sockets", sockets},
                                             {"stalled", stalled},
                                             {"probe", knocked},
                                             {"suspected_for_ms", lasted}};
  events_.write(level, events[static_cast<std::size_t>(change.news)], fields, clock_.wall());
}

void NodeWatch::publish() {
  const base::Instant now = clock_.now();
  const base::WallTime wall = clock_.wall();
  Published fresh{.reported_total = suspicion_.reported_total(), .left_out_total = suspicion_.left_out_total()};
  for (const auto& [name, record] : suspicion_.records()) {
    fresh.nodes.push_back({.node = name,
                           .state = record.life.name(),
                           .sockets = record.evidence.sockets,
                           .stalled = record.evidence.stalled.sockets,
                           .since = wall - (now - record.suspected_at),
                           .knocked = record.evidence.witness.text()});
  }
  const std::lock_guard lock(mutex_);
  published_ = std::move(fresh);
}

std::string NodeWatch::nodes_json() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  observe::JsonWriter json(text);
  json.begin_object().key("nodes").begin_array();
  for (const Shown& each : published_.nodes) {
    json.begin_object()
        .member("node", each.node)
        .member("state", each.state)
        .member("since", each.since)
        .member("sockets", each.sockets)
        .member("stalled", each.stalled)
        .member("probe", each.knocked)
        .end_object();
  }
  json.end_array().end_object();
  return text + "\n";
}

void NodeWatch::write_metrics(observe::MetricWriter& writer) const {
  const std::lock_guard lock(mutex_);
  writer.gauge("ebbgate_reap_node_silent", "1: all connections to the node are silent and a probe of it has failed.");
  for (const Shown& each : published_.nodes) {
    writer.sample({{"node", each.node}}, std::uint64_t{each.state == "reported" ? 1U : 0U});
  }
  writer.counter("ebbgate_reap_nodes_reported", "Times that a node was reported silent.");
  writer.sample({}, published_.reported_total);
  writer.counter("ebbgate_reap_nodes_left_out", "Looks at silent nodes beyond those that can be followed.");
  writer.sample({}, published_.left_out_total);
}

}  // namespace ebb::reap
