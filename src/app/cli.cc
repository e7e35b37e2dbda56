#include "app/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "app/canary_probe_command.h"
#include "app/canary_serve_command.h"
#include "app/check.h"
#include "app/conns_command.h"
#include "app/ctl_command.h"
#include "app/drain_command.h"
#include "app/reap_command.h"
#include "app/run.h"
#include "app/version.h"
#include "config/suggest.h"

namespace ebb::app {

namespace {

constexpr const char* top_footer = R"(Examples:
  ebbgate check -c gate.yaml      say what is wrong with a configuration
  ebbgate run -c gate.yaml        serve it
  ebbgate ctl show stat           what it does
  ebbgate drain --help            before an endpoint stops
  ebbgate conns                   every TCP connection of this machine, with a verdict
  ebbgate reap --policy reap.yaml end connections whose real peer is gone
  ebbgate canary --help           is the way through the router good?
  ebbgate COMMAND --help          more about a command

Exit status: 0 success, 1 the configuration is wrong or the router could not start, 2 the command line is wrong.)";

constexpr const char* run_footer =
    R"(The router watches the file: a saved change is live at once, or refused whole while the old one keeps serving.

Example:
  ebbgate run -c /etc/ebbgate/gate.yaml

Signals: TERM and INT stop, HUP reads the file again, USR1 reopens the access log.
Exit status: 0 after an orderly stop, 1 if it could not start.)";

constexpr const char* check_footer =
    R"(Reads the file and its certificates, and prints every error with its place and a remedy.

Examples:
  ebbgate check -c gate.yaml
  ebbgate check -c gate.yaml --json | jq '.errors[].reason'

Exit status: 0 the configuration can be served, 1 it cannot.)";

constexpr const char* ctl_footer =
    R"(Speaks HAProxy's runtime dialect with a router on this machine. Without a command, lines of standard input.
The socket is that of `runtime:` in the configuration; $EBBGATE_SOCKET names another one for all calls.

Examples:
  ebbgate ctl show servers state
  ebbgate ctl -s /run/ebbgate.sock "set server api/a state drain; show servers conn api"
  ebbgate ctl wait 30s srv-removable api/a
  source <(ebbgate ctl --completion bash)

Exit status: 0 the router has done all commands, 1 it cannot be reached, or has refused a command (unknown command or
server, bad value, expired wait); the reply has the reason.)";

constexpr const char* drain_footer =
    R"(Asks every replica of the router for a drain, and ends when all have acknowledged that no work uses the endpoint.
A name in --routers means all its addresses, such as those of a headless service.
The endpoint still gets requests that no other endpoint can serve, unless --not-if-last is given.

Examples, as a preStop command:
  ebbgate drain --self --routers ebbgate.ingress.svc:9902 --timeout 60s
  ebbgate drain --endpoint 10.1.0.5:8080 --routers 10.0.0.1:9901,10.0.0.2:9901 --token-file /etc/token --json

An absent router (connection refused, no route, a name without an address) has no connections, so the others'
receipts suffice. At least one router must answer.

Exit status: 0 drained everywhere, 1 a router refuses or does not answer, or all are absent, 3 work is still open at
the time-out (the command prints it), 4 drained, but the drain deadline cut requests or tunnels.)";

constexpr const char* conns_footer =
    R"(A line per TCP socket: queues, timer (kind, time left, count), age, time since data came in and went out, round
trip, ENDS (when the kernel gives up if the peer is silent from now on; ~: options assumed), verdict and owner.
All filter words must match: state=, verdict=, process=, pid=, netns=, local=, peer=, port=, or a plain text;
! negates a word. Peers behind service addresses are shown as SERVICE>REAL. Other users' programs need root.

Examples:
  ebbgate conns verdict=half-open
  ebbgate conns --all --by process
  ebbgate conns --pid 4242 peer=10.96.0.0/12 --json | jq '.sockets[] | {peer, real_peer, gives_up}'
  ebbgate conns --why 10.96.0.1:443          in prose: why it is open, what ends it, when
  ebbgate conns --samples 6 --every 5s       programs that only open connections are leaking
  ebbgate conns --watch
  ebbgate conns --samples 60 --record night.jsonl; ebbgate conns --replay night.jsonl --by peer

Exit status: 0 success, 1 the sockets cannot be read, or --why found none.)";

constexpr const char* reap_footer =
    R"(Ends sockets of any program whose endpoint is gone by the list, or silent or idle for longer than the policy allows, so
that the program reconnects at once. Without `act: true` in the policy it only reports. It touches only sockets that
`allow` names, and looks at each again immediately before it ends it. It watches both files, and writes a line of JSON
for each action to standard output. Needs root, or the capabilities in docs/privileges.md.

A policy:
  act: true
  endpoints: endpoints.yaml
  allow:
    - {netns: ["cni-*"], port: [443, 5432]}
  end: {unanswered: 30s}

Examples:
  ebbgate reap --policy reap.yaml --once --dry-run       only report
  ebbgate reap --policy reap.yaml --endpoints endpoints.yaml
  ebbgate reap --policy reap.yaml --once --gone 10.1.0.5,10.1.2.0/24
  ebbgate reap --policy reap.yaml --arm                  unchanged programs notice dead peers in seconds

Signals: TERM and INT stop, HUP reads the files again.
Exit status: 0 success, 1 a file is wrong, or the sockets cannot be read.)";

constexpr const char* canary_footer = R"(Examples:
  ebbgate canary serve            what the canary's route leads to
  ebbgate canary probe https://shop.example.com/)";

constexpr const char* canary_serve_footer =
    R"(Answers 200 to any request, on two ports, with the port (x-request-port), the nonce of the request (Ebbgate-Canary),
pod and node: by HTTP/1.1, HTTP/2 (ALPN, or prior knowledge without TLS) and as the echo of a WebSocket.
With a certificate and a key it serves TLS on both ports. TERM ends it gracefully.

Examples:
  ebbgate canary serve
  PORT=8443 SECOND_PORT=8888 TLS_CERT=/etc/tls/tls.crt TLS_KEY=/etc/tls/tls.key ebbgate canary serve
  ebbgate canary serve --port 9080 --second-port 9081 --pod $HOSTNAME

Exit status: 0 after an orderly stop, 1 if it could not start.)";

constexpr const char* canary_probe_footer =
    R"(Sends a request through the router and checks the answer: first the status, then the nonce, port and body of a canary
server. Prints the time of each phase, and the fault with its remedy (docs/canary.md lists all faults).
The default is HTTP/1.1 on a fresh connection; each of --http2, --websocket and --reuse adds a leg.

Examples:
  ebbgate canary probe https://shop.example.com/
  ebbgate canary probe --http2 --websocket --reuse --count 10 --every 1s https://canary.example.com/
  ebbgate canary probe --resolve 10.1.0.5:8443 --ca ca.pem https://canary.example.com/   one replica, past the balancer
  ebbgate canary probe --json --expect-port 8888 http://canary.example.com/ | jq .fault

Exit status: 0 every probe was good, 1 a probe failed, 2 the command line is wrong.)";

constexpr const char* version_footer = R"(Example:
  ebbgate version --json)";

struct Arguments {
  RunOptions run;
  std::string check_path;
  bool check_json = false;
  bool version_json = false;
  CtlArguments ctl;
  DrainArguments drain;
  ConnsArguments conns;
  ReapArguments reap;
  CanaryServeArguments canary_serve;
  CanaryProbeArguments canary_probe;
};

int run_check(const Arguments& arguments) {
  const CheckReport report = check(arguments.check_path);
  if (arguments.check_json) {
    fmt::print("{}", report.json());
  } else {
    fmt::print(report.ok() ? stdout : stderr, "{}", report.text());
  }
  return report.ok() ? exit_ok : exit_failed;
}

int run_version(const Arguments& arguments) {
  fmt::print("{}", arguments.version_json ? version_json() : version_text());
  return exit_ok;
}

constexpr std::string_view commands[] = {"run", "check", "ctl", "drain", "conns", "reap", "canary", "version"};

void add_conns_options(CLI::App& command, ConnsArguments& conns) {
  CLI::Option* const netns =
      command.add_option("--netns", conns.netns, "another network namespace")->type_name("NAME|PATH");
  CLI::Option* const pid =
      command.add_option("--pid", conns.pid, "the network namespace of a process")->excludes(netns);
  command.add_flag("--all", conns.all, "every network namespace of this machine")->excludes(netns)->excludes(pid);
  CLI::Option* const by =
      command.add_option("--by", conns.by, "a line per group")->check(CLI::IsMember({"process", "peer", "verdict"}));
  CLI::Option* const sort = command.add_option("--sort", conns.sort, "the worst first")
                                ->check(CLI::IsMember({"verdict", "queue", "ends", "age", "process"}))
                                ->excludes(by);
  CLI::Option* const why =
      command.add_option("--why", conns.why, "explain: PID/FD, ADDRESS:PORT or cookie:NUMBER")->type_name("SOCKET");
  command.add_option("--gone", conns.gone, "peers that are gone: addresses, comma-separated")->type_name("LIST");
  command.add_option("--limit", conns.limit, "longest time to outlive a dead peer; beyond it unprotected")
      ->capture_default_str();
  command.add_option("--quiet", conns.quiet, "without data for longer: not active")->capture_default_str();
  command.add_option("--orphan", conns.orphan, "half closed and quiet for longer: orphan")->capture_default_str();
  CLI::Option* const samples =
      command.add_option("--samples", conns.samples, "number of looks")->check(CLI::Range(1, 1'000'000));
  command.add_option("--every", conns.every, "interval between looks")->capture_default_str();
  CLI::Option* const record =
      command.add_option("--record", conns.record, "write every look to a file")->type_name("FILE");
  CLI::Option* const replay = command.add_option("--replay", conns.replay, "show the last look of such a file")
                                  ->type_name("FILE")
                                  ->excludes(record)
                                  ->excludes(samples);
  CLI::Option* const json =
      command.add_flag("--json", conns.json, "print one JSON object")->excludes(why)->excludes(by);
  command.add_flag("--watch", conns.watch, "a live view; q leaves")
      ->excludes(json)
      ->excludes(why)
      ->excludes(replay)
      ->excludes(by)
      ->excludes(sort);
  why->excludes(by)->excludes(sort);
  command.add_option("filter", conns.filters, "which sockets")->type_name("WORD");
  command.footer(conns_footer);
}

void add_reap_options(CLI::App& command, ReapArguments& reap) {
  command.add_option("--policy", reap.policy, "what to end, and why")->required()->type_name("FILE");
  command.add_option("--endpoints", reap.endpoints, "services and their endpoints, instead of the policy's")
      ->type_name("FILE");
  command.add_option("--gone", reap.gone, "further peers that are gone: addresses, comma-separated")->type_name("LIST");
  CLI::Option* const once = command.add_flag("--once", reap.once, "look once, then exit");
  command.add_flag("--dry-run", reap.dry_run, "end and arm nothing, whatever the policy says");
  command.add_flag("--arm", reap.arm, "set time-outs on allowed sockets, even if the policy has no `arm`")
      ->excludes(once);
  command.add_flag("--json", reap.json, "with --once: lines of JSON instead of text")->needs(once);
  command.footer(reap_footer);
}

// The variables are those of OpenShift's canary.
void add_canary_serve_options(CLI::App& command, CanaryServeArguments& serve) {
  command.add_option("--port", serve.port, "8080, with TLS 8443; 0: any")->envname("PORT");
  command.add_option("--second-port", serve.second_port, "the second port")
      ->envname("SECOND_PORT")
      ->capture_default_str();
  command.add_option("--tls-cert", serve.certificate, "its certificate")->envname("TLS_CERT")->type_name("FILE");
  command.add_option("--tls-key", serve.key, "the key of the certificate")->envname("TLS_KEY")->type_name("FILE");
  command.add_option("--tls-min-version", serve.oldest_tls, "VersionTLS12 (default) or VersionTLS13")
      ->envname("TLS_MIN_VERSION");
  command.add_option("--response", serve.response, "the body of the answer")->envname("RESPONSE");
  command.add_option("--pod", serve.pod, "sent as Ebbgate-Canary-Pod")->envname("POD_NAME");
  command.add_option("--node", serve.node, "sent as Ebbgate-Canary-Node")->envname("NODE_NAME");
  command.footer(canary_serve_footer);
}

void add_canary_probe_options(CLI::App& command, CanaryProbeArguments& probe) {
  command.add_option("url", probe.url, "the URL to probe")->required()->type_name("URL");
  command.add_flag("--http2", probe.http2, "by HTTP/2: ALPN, or prior knowledge without TLS");
  command.add_flag("--websocket", probe.websocket, "as a WebSocket that must echo a message");
  command.add_flag("--reuse", probe.reuse, "by HTTP/1.1 on one connection, which carries at least two requests");
  command.add_option("--count", probe.count, "probes of each leg")->check(CLI::Range(1, 1'000'000'000));
  command.add_option("--every", probe.every, "interval between probes")->capture_default_str();
  command.add_option("--budget", probe.budget, "time limit of a probe")->capture_default_str();
  command.add_option("--resolve", probe.resolve, "connect to this address instead of the URL's")
      ->type_name("ADDRESS:PORT");
  CLI::Option* const ca =
      command.add_option("--ca", probe.ca, "authorities to trust instead of the system's")->type_name("FILE");
  command.add_flag("--insecure", probe.insecure, "accept and show any certificate")->excludes(ca);
  command.add_option("--expect-port", probe.expect_port, "port of the server behind the router")
      ->check(CLI::Range(1, 65535));
  command.add_flag("--json", probe.json, "one JSON object per probe and line");
  command.footer(canary_probe_footer);
}

// CLI11 would only report that a command is required.
bool is_unknown_command(int count, const char* const* arguments) {
  return count > 1 && arguments[1][0] != '-' && std::ranges::find(commands, arguments[1]) == std::end(commands);
}

}  // namespace

int command_line(int count, const char* const* arguments) {
  if (is_unknown_command(count, arguments)) {
    fmt::print(stderr, "ebbgate: there is no command `{}`; {}\n", arguments[1],
               config::suggest(arguments[1], commands));
    return exit_usage;
  }
  Arguments parsed;
  CLI::App app("Ebbgate, an ingress router that knows when a connection should end.", "ebbgate");
  app.require_subcommand(1);
  app.footer(top_footer);

  CLI::App* run_command = app.add_subcommand("run", "Serve a configuration");
  run_command->add_option("-c,--config", parsed.run.config_path, "the configuration file")
      ->required()
      ->type_name("FILE");
  run_command->footer(run_footer);

  CLI::App* check_command = app.add_subcommand("check", "Check a configuration without serving it");
  check_command->add_option("-c,--config", parsed.check_path, "the configuration file")->required()->type_name("FILE");
  check_command->add_flag("--json", parsed.check_json, "print one JSON object");
  check_command->footer(check_footer);

  CLI::App* ctl_command = app.add_subcommand("ctl", "Send run-time commands to a router on this machine");
  ctl_command->add_option("-s,--socket", parsed.ctl.socket, "the runtime socket")->type_name("FILE");
  ctl_command->add_option("--completion", parsed.ctl.completion, "print a completion script for the shell")
      ->check(CLI::IsMember({"bash", "zsh"}));
  ctl_command->prefix_command();  // the words of the runtime command follow unchanged: `show stat api 4 -1`
  ctl_command->footer(ctl_footer);

  CLI::App* drain_command = app.add_subcommand("drain", "Drain an endpoint on all routers and wait for the receipts");
  CLI::Option* self_option = drain_command->add_flag("--self", parsed.drain.self, "the endpoints at our own address");
  CLI::Option* endpoint_option =
      drain_command->add_option("--endpoint", parsed.drain.endpoint, "HOST:PORT, or backend/name")
          ->excludes(self_option);
  drain_command->add_option("--routers", parsed.drain.routers, "HOST:PORT or NAME:PORT, comma-separated")
      ->required()
      ->type_name("LIST");
  drain_command->add_option("--timeout", parsed.drain.timeout, "give up after")->capture_default_str();
  drain_command->add_option("--token-file", parsed.drain.token_file, "the token of the admin listener")
      ->type_name("FILE");
  drain_command->add_flag("--not-if-last", parsed.drain.not_if_last,
                          "send no new work, even if no other endpoint serves");
  drain_command->add_flag("--json", parsed.drain.json, "print one JSON object");
  drain_command->footer(drain_footer);

  CLI::App* conns_command =
      app.add_subcommand("conns", "Show every TCP connection with its owner, its end and a verdict");
  add_conns_options(*conns_command, parsed.conns);

  CLI::App* reap_command = app.add_subcommand("reap", "End connections of any program whose real peer is gone");
  add_reap_options(*reap_command, parsed.reap);

  CLI::App* canary_command = app.add_subcommand("canary", "Prove that the way through the router is good");
  canary_command->require_subcommand(1);
  canary_command->footer(canary_footer);
  CLI::App* canary_serve_command = canary_command->add_subcommand("serve", "Answer requests on the canary's routes");
  add_canary_serve_options(*canary_serve_command, parsed.canary_serve);
  CLI::App* canary_probe_command =
      canary_command->add_subcommand("probe", "Probe a route of a router and name the fault");
  add_canary_probe_options(*canary_probe_command, parsed.canary_probe);

  CLI::App* version_command = app.add_subcommand("version", "Say which version this is");
  version_command->add_flag("--json", parsed.version_json, "print one JSON object");
  version_command->footer(version_footer);

  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    // Also thrown by --help, with success.
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  if (run_command->parsed()) return run(parsed.run);
  if (check_command->parsed()) return run_check(parsed);
  if (ctl_command->parsed()) {
    parsed.ctl.command = ctl_command->remaining();
    return control(parsed.ctl);
  }
  if (drain_command->parsed()) {
    if (!parsed.drain.self && endpoint_option->count() == 0) {
      fmt::print(stderr, "ebbgate drain: which endpoint? give --self or --endpoint HOST:PORT\n");
      return exit_usage;
    }
    return drain_endpoint(parsed.drain);
  }
  if (conns_command->parsed()) return take_census(parsed.conns);
  if (reap_command->parsed()) return reap_sockets(parsed.reap);
  if (canary_serve_command->parsed()) return serve_canary(parsed.canary_serve);
  if (canary_probe_command->parsed()) return probe_by_hand(parsed.canary_probe);
  return run_version(parsed);
}

}  // namespace ebb::app
