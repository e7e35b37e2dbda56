#include "app/cli.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "app/check.h"
#include "app/run.h"
#include "app/version.h"
#include "config/suggest.h"

namespace ebb::app {

namespace {

constexpr const char* top_footer = R"(Examples:
  ebbgate check -c gate.yaml      say what is wrong with a configuration
  ebbgate run -c gate.yaml        serve it
  ebbgate COMMAND --help          more about a command

Exit status: 0 success, 1 the configuration is wrong or the router could not start, 2 the command line is wrong.)";

constexpr const char* run_footer =
    R"(The file is watched: a saved change is live at once, or refused whole while the old one keeps serving.

Example:
  ebbgate run -c /etc/ebbgate/gate.yaml

Signals: TERM and INT stop, HUP reads the file again, USR1 opens the access log anew.
Exit status: 0 after an orderly stop, 1 if it could not start.)";

constexpr const char* check_footer =
    R"(Reads the file and its certificates, and prints every error with its place and a remedy.

Examples:
  ebbgate check -c gate.yaml
  ebbgate check -c gate.yaml --json | jq '.errors[].reason'

Exit status: 0 the configuration can be served, 1 it cannot.)";

constexpr const char* version_footer = R"(Example:
  ebbgate version --json)";

struct Arguments {
  RunOptions run;
  std::string check_path;
  bool check_json = false;
  bool version_json = false;
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

constexpr std::string_view commands[] = {"run", "check", "version"};

// The library would only say that a command is required.
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
  return run_version(parsed);
}

}  // namespace ebb::app
