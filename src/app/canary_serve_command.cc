#include "app/canary_serve_command.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "app/cli.h"
#include "canary/echo_server.h"
#include "config/diagnostic.h"
#include "control/pem_files.h"
#include "reactor/epoll.h"

namespace ebb::app {
namespace {

constexpr std::uint16_t plain_port = 8080;
constexpr std::uint16_t tls_port = 8443;

int refuse(std::string_view why) {
  fmt::print(stderr, "ebbgate canary serve: {}\n", why);
  return exit_failed;
}

void warn(std::string_view what) { fmt::print(stderr, "ebbgate canary serve: warning: {}\n", what); }

// A wrong value must not stop the server: the canary would report a broken router.
bool wants_tls13_only(const std::string& oldest) {
  if (oldest == "VersionTLS13") return true;
  if (!oldest.empty() && oldest != "VersionTLS12") {
    warn(fmt::format("\"{}\" is no version that is served; VersionTLS12 is used, and VersionTLS13 is the other",
                     oldest));
  }
  return false;
}

void warn_of_unused_variables() {
  for (const char* const variable : {"TLS_CIPHERS", "TLS_GROUPS"}) {
    if (const char* const value = std::getenv(variable); value != nullptr && *value != '\0') {
      warn(fmt::format("{} is not heard; the suites and groups of the router are used", variable));
    }
  }
}

std::expected<std::shared_ptr<const wire::ServerContext>, std::string> build_context(
    const CanaryServeArguments& arguments) {
  if (arguments.certificate.empty() || arguments.key.empty()) {
    return std::unexpected("TLS needs both a certificate and a key; give --tls-cert and --tls-key, or neither");
  }
  control::PemFiles files("the canary server");
  wire::ServerOptions options{.tls13_only = wants_tls13_only(arguments.oldest_tls), .alpn = {"h2", "http/1.1"}};
  options.certificates.push_back({.certificate_pem = files.read(arguments.certificate, "certificate"),
                                  .key_pem = files.read(arguments.key, "key"),
                                  .origin = arguments.certificate,
                                  .key_origin = arguments.key});
  if (!files.problems().empty()) return std::unexpected(config::text_of(files.problems()));
  warn_of_unused_variables();
  return wire::ServerContext::build(options, std::make_shared<wire::TicketKeys>());
}

canary::EchoIdentity identity_of(const CanaryServeArguments& arguments) {
  canary::EchoIdentity identity{.pod = arguments.pod, .node = arguments.node};
  if (!arguments.response.empty()) identity.body = arguments.response + "\n";
  return identity;
}

// For all threads of this process: the main thread waits for these signals.
sigset_t block_stop_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&awaited, signal);
  pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return awaited;
}

}  // namespace

int serve_canary(const CanaryServeArguments& arguments) {
  const sigset_t awaited = block_stop_signals();
  const bool secure = !arguments.certificate.empty() || !arguments.key.empty();
  std::shared_ptr<const wire::ServerContext> tls;
  if (secure) {
    auto context = build_context(arguments);
    if (!context) return refuse(context.error());
    tls = std::move(*context);
  }
  auto reactor = reactor::EpollReactor::make({});
  if (!reactor) return refuse("the kernel refused an epoll set");
  canary::EchoServer server(**reactor, identity_of(arguments), tls);
  for (const std::uint16_t wanted : {arguments.port.value_or(secure ? tls_port : plain_port), arguments.second_port}) {
    std::string error;
    const std::uint16_t port = server.listen(wanted, error);
    if (port == 0) return refuse(error + "; is another server there? PORT and SECOND_PORT choose the ports");
    fmt::print("serving {}on {}\n", secure ? "TLS " : "", port);
  }
  std::fflush(stdout);
  std::thread thread([&] { (*reactor)->run(server.handler()); });
  int signal = 0;
  sigwait(&awaited, &signal);
  (*reactor)->post([&server] { server.begin_to_leave(); });
  thread.join();
  return exit_ok;
}

}  // namespace ebb::app
