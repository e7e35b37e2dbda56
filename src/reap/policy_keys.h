// Every key of the policy file.
#pragma once

#include "config/keys.h"
#include "reap/arm_keys.h"
#include "reap/formats.h"
#include "reap/policy.h"

namespace ebb::reap {

using config::Key;
using config::Need;
using config::Node;
using config::Reader;

inline constexpr Key<AllowRow> allow_keys[] = {
    {"netns", config::texts<&AllowRow::netns>,
     "network namespaces: names of `/run/netns`, `this`, or `pid N` for a namespace without a name"},
    {"process", config::texts<&AllowRow::process>, "names of programs, as in `/proc/PID/comm`"},
    {"cgroup", config::texts<&AllowRow::cgroup>, "paths of control groups, as in `/proc/PID/cgroup`"},
    {"uid", config::values<config::CountFormat, &AllowRow::uid>, "users who own the sockets"},
    {"port", config::values<config::CountFormat, &AllowRow::port>, "port of the peer: the service's or the real one"},
    {"labels", config::by_name<&AllowRow::labels, read_label>,
     "labels of the namespace or control group in the endpoint file; all must match"},
};

// A limit that a few lost packets reach would end live connections.
using LimitFormat = TimeFormat<1>;
template <auto member>
inline constexpr auto limit = config::scalar<config::Optional<LimitFormat>, member>;

// The kernel's own time-outs begin at 200 ms: shorter intervals show nothing new.
struct NodePaceFormat {
  static std::string type() { return config::DurationFormat::type(); }
  static config::Parsed<base::Duration> parse(std::string_view text, const config::Surroundings& surroundings) {
    auto parsed = config::DurationFormat::parse(text, surroundings);
    if (!parsed || *parsed >= std::chrono::milliseconds{200}) return parsed;
    return std::unexpected(config::Complaint{"expected 200 ms or more", "write `500ms`"});
  }
  static std::string show(base::Duration value) { return config::DurationFormat::show(value); }
};

inline constexpr Key<Grounds> end_keys[] = {
    {"removed", config::flag<&Grounds::removed>,
     "end connections to an endpoint that is gone, or `leaving` and past its grace, or `leaving` and silent"},
    {"unanswered", limit<&Grounds::unanswered>,
     "end connections that have retransmitted the same data for this time without an answer; default: never"},
    {"idle", limit<&Grounds::idle>, "end connections without data in either direction for this time; default: never"},
    {"silent_nodes", config::flag<&Grounds::silent_nodes>, "end connections to a node that is reported silent"},
};

inline constexpr Key<NodePolicy> nodes_keys[] = {
    {"watch", config::flag<&NodePolicy::watch>,
     "report nodes whose connections all fall silent and that do not answer a probe"},
    {"every", config::scalar<NodePaceFormat, &NodePolicy::every>,
     "interval between two looks for silent nodes; longer if they would take more than a fiftieth of the time"},
};

// A row without conditions would allow everything, which is more likely a mistake than a wish.
inline constexpr config::Value<Policy> allow_list = {
    [] { return std::string("list"); },
    [](Reader& reader, const Node& node, Policy& policy) {
      config::list<&Policy::allow, allow_keys>.read(reader, node, policy);
      for (std::size_t i = 0; i < policy.allow.size(); ++i) {
        const Reader::Inside inside(reader, "[" + std::to_string(i) + "]");
        if (!policy.allow[i].empty() || reader.failed()) continue;
        reader.refuse(node.items[i].mark, "there is no condition in it", "to allow everything write `netns: [\"*\"]`");
      }
    },
    [](const Policy&) { return std::string(); },
};

struct BudgetFormat {
  static std::string type() { return config::CountFormat::type(); }
  static config::Parsed<std::uint32_t> parse(std::string_view text, const config::Surroundings& surroundings) {
    constexpr std::uint32_t budget_max = 1'000'000;
    auto parsed = config::CountFormat::parse(text, surroundings);
    if (!parsed || (*parsed >= 1 && *parsed <= budget_max)) return parsed;
    return std::unexpected(config::Complaint{"expected 1 to 1000000", "to end nothing write `act: false`"});
  }
  static std::string show(std::uint32_t value) { return config::CountFormat::show(value); }
};

// Metrics show which sockets a node ends, so they stay on the node.
struct LoopbackFormat {
  static std::string type() { return "loopback address"; }
  static config::Parsed<base::Address> parse(std::string_view text, const config::Surroundings& surroundings) {
    auto parsed = config::BindFormat::parse(text, surroundings);
    if (!parsed || parsed->is_loopback()) return parsed;
    return std::unexpected(config::Complaint{"expected an address of loopback", "write `127.0.0.1:9904`"});
  }
  static std::string show(const base::Address& value) { return config::BindFormat::show(value); }
};

inline constexpr Key<Policy> policy_keys[] = {
    {"act", config::flag<&Policy::act>, "`false`: the reaper ends and arms no socket, and logs what it would do"},
    {"allow", allow_list, "sockets that the reaper may touch; a socket without a matching row is never touched"},
    {"end", config::section<&Policy::end, end_keys>, "grounds for ending a connection"},
    {"nodes", config::section<&Policy::nodes, nodes_keys>, "detection of silent nodes"},
    {"arm", arm_section, "time-outs for sockets that `allow` matches and whose programs have set none; default: none"},
    {"endpoints", config::file<&Policy::endpoints>, "the endpoint file; `--endpoints` overrides it"},
    {"budget", config::scalar<BudgetFormat, &Policy::budget>, "largest number of sockets to end within any minute"},
    {"every", config::scalar<LimitFormat, &Policy::every>,
     "interval between two looks at all sockets; the reaper acts on a change of the endpoint file at once"},
    {"metrics", config::scalar<LoopbackFormat, &Policy::metrics>, "address of `/metrics`; a change needs a restart"},
};

}  // namespace ebb::reap
