#include "app/canary_probe_command.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "app/cli.h"
#include "app/duration_option.h"
#include "canary/prober.h"
#include "control/pem_files.h"
#include "observe/json_writer.h"
#include "wire/h1_head.h"

namespace ebb::app {
namespace {

using canary::Phase;
using canary::ProbeResult;
using canary::Protocol;
using observe::visible;  // server texts go to a terminal

// Uses the parser of requests, the only strict parser of absolute URLs here.
Outcome<canary::Door> door_of(const std::string& url) {
  const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: x\r\n\r\n", url);
  const auto head = std::make_unique<wire::RequestHead>();  // large
  const wire::Parsed parsed = wire::parse_request(request, {}, *head);
  if (parsed.status != wire::Parsed::Status::complete || parsed.consumed != request.size() || head->target != url ||
      url.starts_with('/')) {
    return std::unexpected(
        fmt::format("\"{}\" is no URL that can be probed; give http://HOST[:PORT]/PATH or https://…", url));
  }
  const bool secure = wire::equals_ignoring_case(head->target.substr(0, 5), "https");
  canary::Door door;
  door.kind = secure ? canary::Kind::edge : canary::Kind::plain;
  door.authority = head->authority;
  door.path = head->path;
  door.port = secure ? 443 : 80;
  std::string_view host = head->authority;
  const std::size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  if (colon != std::string_view::npos) {
    const std::string_view port = host.substr(colon + 1);
    if (!port.empty()) std::from_chars(port.data(), port.data() + port.size(), door.port);
    host = host.substr(0, colon);
  }
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  door.host = host;
  door.replica = door.host;
  return door;
}

std::string milliseconds(base::Duration took) {
  return fmt::format("{:.1f} ms", std::chrono::duration<double, std::milli>(took).count());
}

std::string days_until(base::WallTime then, base::WallTime now) {
  const auto days = std::chrono::duration_cast<std::chrono::days>(then - now).count();
  if (then < now) return fmt::format("expired {} days ago", -days);
  return fmt::format("expires in {} days", days);
}

class ProbeByHand {
 public:
  explicit ProbeByHand(const CanaryProbeArguments& arguments) : arguments_(arguments) {}

  Outcome<int> run() {
    std::vector<canary::Leg> legs = EBB_TRY(this->legs());
    options_.schedule.every = EBB_TRY(duration("--every", arguments_.every));
    options_.schedule.budget = EBB_TRY(duration("--budget", arguments_.budget));
    options_.schedule.at_once = true;
    options_.schedule.presses = false;  // keep the requested interval
    options_.echo = canary::Echo::if_present;
    if (arguments_.expect_port != 0) options_.rotation.ports = {arguments_.expect_port};
    options_.probes_per_leg = arguments_.count;
    options_.seed = static_cast<std::uint64_t>(base::SystemClock().wall().time_since_epoch().count());

    std::string why;
    auto reactor = reactor::make_reactor(reactor::Kind::epoll, {}, why);
    if (!reactor) return std::unexpected(why);
    canary::ThreadedResolver resolver(**reactor);
    left_ = legs.size() * options_.probes_per_leg;
    canary::Prober prober(**reactor, resolver, options_,
                          {[&](const canary::Leg& leg, const ProbeResult& result, auto, const auto&) {
                             report(leg, result);
                             if (--left_ == 0) (*reactor)->stop();
                           },
                           nullptr});
    prober.set_legs(std::move(legs));
    (*reactor)->run(prober);
    if (!arguments_.json && probes_ > 1) sum_up();
    return faults_.empty() ? exit_ok : exit_failed;
  }

 private:
  Outcome<std::vector<canary::Leg>> legs() const {
    canary::Door door = EBB_TRY(door_of(arguments_.url));
    if (!arguments_.resolve.empty()) {
      const auto address = base::Address::parse(arguments_.resolve);
      if (!address) {
        return std::unexpected(fmt::format(
            "--resolve: \"{}\" is no address with a port; give 10.1.0.5:8443 or [::1]:8443", arguments_.resolve));
      }
      door.host = address->host_text();
      door.port = address->port();
    }
    door.protocols.clear();
    if (arguments_.http2) door.protocols.push_back(Protocol::h2);
    if (arguments_.websocket) door.protocols.push_back(Protocol::websocket);
    if (arguments_.reuse) door.protocols.push_back(Protocol::http1_reused);
    if (door.protocols.empty()) door.protocols.push_back(Protocol::http1_fresh);

    canary::Trust trust{.verify = !arguments_.insecure};
    if (!arguments_.ca.empty()) {
      control::PemFiles files("--ca");
      trust.authorities = {files.read(arguments_.ca, "authorities"), arguments_.ca};
      if (!files.problems().empty()) return std::unexpected(files.problems().front().text());
    }
    return canary::lay_out({door}, trust);
  }

  void report(const canary::Leg& leg, const ProbeResult& result) {
    probes_ += 1;
    if (result.reused) reused_ += 1;
    if (!result.good()) faults_[result.judgement.fault] += 1;
    if (arguments_.json) {
      print_json(leg, result);
    } else {
      print_text(leg, result);
    }
    std::fflush(stdout);
  }

  void print_text(const canary::Leg& leg, const ProbeResult& result) const {
    const canary::FaultFacts& fault = facts(result.judgement.fault);
    fmt::print("{} {}{}: ", name(leg.protocol), visible(arguments_.url),
               result.peer.empty() ? "" : " at " + visible(result.peer));
    if (result.good()) {
      fmt::print("{}\n", result.answer.status);
    } else {
      const std::string detail = visible(result.judgement.detail);
      fmt::print("{}: {}{}\n", fault.name, fault.words, detail.empty() ? "" : " (" + detail + ")");
      fmt::print("  what to do: {}\n", fault.remedy);
    }
    std::string phases;
    for (std::size_t i = 0; i < canary::phase_count; ++i) {
      const auto& took = result.phases[static_cast<Phase>(i)];
      if (took)
        phases += fmt::format("{}{} {}", phases.empty() ? "" : ", ", canary::phase_names[i], milliseconds(*took));
    }
    fmt::print("  {}{}\n", phases, result.reused ? ", on a connection that was used before" : "");
    if (result.certificate) {
      fmt::print("  {}, {}{}, {}{}\n", result.tls, result.expires_soon ? "warning: " : "",
                 visible(result.certificate->subject), days_until(result.certificate->expires, result.at),
                 result.certificate->verified ? "" : ", not verified");
    }
    if (result.answer.status != 0) print_identity(result.answer);
  }

  static void print_identity(const canary::Answer& answer) {
    if (!answer.nonce) return fmt::print("  no canary server: nothing but the status and the time is proven\n");
    const auto said = [](const std::optional<std::string>& value, std::string_view instead) {
      return value ? visible(*value) : std::string(instead);
    };
    fmt::print("  answered by {} on {}, port {}, configuration {}{}\n", said(answer.pod, "?"), said(answer.node, "?"),
               said(answer.port, "?"), said(answer.generation, "not said"),
               answer.configuration ? " (" + visible(*answer.configuration) + ")" : "");
  }

  void print_json(const canary::Leg& leg, const ProbeResult& result) const {
    std::string out;
    observe::JsonWriter json(out);
    json.begin_object()
        .member("at", result.at)
        .member("url", arguments_.url)
        .member("protocol", name(leg.protocol))
        .member("peer", result.peer)
        .member("good", result.good())
        .member("fault", name(result.judgement.fault))
        .member("detail", result.judgement.detail)
        .member("remedy", result.good() ? "" : facts(result.judgement.fault).remedy)
        .member("reused", result.reused);
    json.key("phases_us").begin_object();
    for (std::size_t i = 0; i < canary::phase_count; ++i) {
      const auto& took = result.phases[static_cast<Phase>(i)];
      if (took) json.member(canary::phase_names[i], took->count() / 1000);
    }
    json.end_object();
    write_answer(json, result.answer);
    if (result.certificate) {
      json.key("certificate")
          .begin_object()
          .member("subject", result.certificate->subject)
          .member("issuer", result.certificate->issuer)
          .member("expires", result.certificate->expires)
          .member("expires_soon", result.expires_soon)
          .member("verified", result.certificate->verified)
          .end_object();
    }
    json.end_object();
    fmt::print("{}\n", out);
  }

  static void write_answer(observe::JsonWriter& json, const canary::Answer& answer) {
    if (answer.status == 0) return;
    json.key("answer").begin_object().member("status", answer.status);
    const auto say = [&json](std::string_view what, const std::optional<std::string>& value) {
      if (value) json.member(what, *value);
    };
    say("port", answer.port);
    say("pod", answer.pod);
    say("node", answer.node);
    say("generation", answer.generation);
    say("configuration", answer.configuration);
    json.member("canary", answer.nonce.has_value()).end_object();
  }

  void sum_up() const {
    std::string words;
    std::uint64_t bad = 0;
    for (const auto& [fault, count] : faults_) {
      words += fmt::format("{}{} {}", words.empty() ? "; " : ", ", count, name(fault));
      bad += count;
    }
    fmt::print("{} probes, {} good{}\n", probes_, probes_ - bad, words);
    if (arguments_.reuse && reused_ == 0) fmt::print("no connection was used a second time: its peer ended each one\n");
  }

  const CanaryProbeArguments& arguments_;
  canary::ProberOptions options_;
  std::uint64_t left_ = 0;
  std::uint64_t probes_ = 0;
  std::uint64_t reused_ = 0;
  std::map<canary::Fault, std::uint64_t> faults_;
};

}  // namespace

int probe_by_hand(const CanaryProbeArguments& arguments) {
  const auto status = ProbeByHand(arguments).run();
  if (status) return *status;
  fmt::print(stderr, "ebbgate canary probe: {}\n", visible(status.error()));
  return exit_usage;
}

}  // namespace ebb::app
