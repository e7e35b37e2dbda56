#include "admin/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "admin/ask_workers.h"
#include "admin/command_line.h"
#include "admin/pages.h"
#include "admin/worker_scene.h"

namespace ebb::admin {
namespace {

using control::RosterRefusal;
using lifecycle::Wish;

constexpr std::string_view no_backend = "No such backend.\n";
constexpr std::string_view no_server = "No such server.\n";
constexpr std::string_view needs_place = "Require 'backend/server'.\n";

std::string_view complaint(RosterRefusal refusal) {
  return refusal == RosterRefusal::no_backend ? no_backend : no_server;
}

bool has(std::span<const std::string> words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

StatForm form_of(std::span<const std::string> words) {
  if (has(words, "json")) return StatForm::json;
  return has(words, "typed") ? StatForm::typed : StatForm::plain;
}

std::string node_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

// Sorted alphabetically, as `help` lists them.
constexpr Commands::Entry Commands::entries[] = {
    {"add server", "add server <bk>/<srv>", "create a new server", &Commands::add_server},
    {"del server", "del server <bk>/<srv>", "remove a server that is in maintenance and unused", &Commands::del_server},
    {"disable server", "disable server <bk>/<srv>", "disable a server for maintenance", &Commands::disable_server},
    {"enable server", "enable server <bk>/<srv>", "enable a disabled server", &Commands::enable_server},
    {"get weight", "get weight <bk>/<srv>", "report a server's current weight", &Commands::get_weight},
    {"set maxconn server", "set maxconn server <bk>/<srv>", "change a server's maxconn setting",
     &Commands::set_maxconn_server},
    {"set server", "set server <bk>/<srv> [opts]", "change a server's state, weight or address", &Commands::set_server},
    {"set weight", "set weight <bk>/<srv> <weight>", "change a server's weight", &Commands::set_weight},
    {"show backend", "show backend", "list backends in the current running config", &Commands::show_backend},
    {"show info", "show info [json|typed]", "report information about the running process", &Commands::show_info},
    {"show servers conn", "show servers conn [<backend>]",
     "dump server connections status (all or for a single backend)", &Commands::show_servers_conn},
    {"show servers state", "show servers state [<backend>]",
     "dump volatile server information (all or for a single backend)", &Commands::show_servers_state},
    {"show sess", "show sess [id]", "report the list of current sessions or dump this exact session",
     &Commands::show_sess},
    {"show stat", "show stat [json|no-maint|typed|up]*", "report counters for each proxy and server",
     &Commands::show_stat},
    {"show version", "show version", "show version of the current process", &Commands::show_version},
    {"shutdown session", "shutdown session [id]", "kill a specific session", &Commands::shutdown_session},
    {"shutdown sessions server", "shutdown sessions server <bk>/<srv>", "kill sessions on a server",
     &Commands::shutdown_sessions_server},
    {"wait", "wait <delay> [srv-removable <bk>/<srv>]", "wait the specified delay, or until a server can be deleted",
     &Commands::wait},
    {"help", "help [<command>]", "list matching or all commands", &Commands::help},
};

void Commands::run(std::string_view command, Reply reply) {
  const std::vector<std::string> words = split_words(command);
  // Word by word: an escaped blank is part of a word.
  for (const Entry& entry : entries) {
    const std::vector<std::string> named = split_words(entry.words);
    if (std::ranges::mismatch(named, words).in1 != named.end()) continue;
    return (this->*entry.run)(Words(words).subspan(named.size()), std::move(reply));
  }
  const std::string matching = words.empty() ? "" : help_lines(words[0]);
  if (matching.empty()) {
    return reply(refusal("Unknown command. Please enter one of the following commands only:\n" + help_lines("")));
  }
  reply(refusal("Unknown command, but maybe one of the following ones is a better match:\n" + matching));
}

std::string Commands::help_lines(std::string_view beginning) {
  std::string lines;
  for (const Entry& entry : entries) {
    if (!entry.words.starts_with(beginning) || entry.words == "help") continue;
    lines += fmt::format("  {:<40}: {}\n", entry.usage, entry.meaning);
  }
  if (lines.empty()) return "";
  lines += fmt::format("  {:<40}: list matching or all commands\n", "help [<command>]");
  lines += fmt::format("  {:<40}: toggle interactive mode with prompt\n", "prompt");
  lines += fmt::format("  {:<40}: disconnect\n", "quit");
  lines += fmt::format("  {:<40}: set presence of severity level in feedback information\n",
                       "set severity-output [none|number|string]");
  return lines;
}

void Commands::help(Words words, Reply reply) {
  std::string lines = help_lines(fmt::format("{}", fmt::join(words, " ")));
  if (lines.empty()) lines = help_lines("");
  reply("The following commands are valid at this level:\n" + lines);
}

void Commands::with_scene(std::move_only_function<void(const RuntimeScene&)> use) {
  gather_scene(server_, sources_, [this, use = std::move(use)](RuntimeScene scene) mutable {
    scene.node = node_name();
    scene.now = server_.now();
    use(scene);
  });
}

// Names may contain a slash: take the first split that names an endpoint.
bool Commands::find(Words words, Place& place, Reply& reply, std::string_view end) const {
  const std::string_view text = words.empty() ? std::string_view() : words[0];
  const auto refuse = [&](std::string_view with) {
    with.remove_suffix(1);
    reply(refusal(std::string(with) + std::string(end)));
    return false;
  };
  RosterRefusal refusal = RosterRefusal::no_backend;
  if (text.find('/') == std::string_view::npos) return refuse(needs_place);
  for (std::size_t slash = text.find('/'); slash != std::string_view::npos; slash = text.find('/', slash + 1)) {
    const auto endpoint = sources_.roster->find(text.substr(0, slash), text.substr(slash + 1));
    if (endpoint) {
      place = {std::string(text.substr(0, slash)), std::string(text.substr(slash + 1))};
      return true;
    }
    if (endpoint.error() == RosterRefusal::no_endpoint) refusal = endpoint.error();
  }
  return refuse(complaint(refusal));
}

void Commands::show_version(Words, Reply reply) { reply(sources_.version + "\n"); }

void Commands::show_info(Words words, Reply reply) {
  with_scene([form = form_of(words), reply = std::move(reply)](const RuntimeScene& scene) mutable {
    reply(write_info(info_fields(scene, observe::read_process_facts()), form));
  });
}

void Commands::show_backend(Words, Reply reply) {
  with_scene([reply = std::move(reply)](const RuntimeScene& scene) mutable { reply(backend_names(scene)); });
}

// "show stat [<iid|proxy> <type> <sid>]": types are bits, 1 frontends, 2 backends, 4 servers; -1 means all.
void Commands::show_stat(Words words, Reply reply) {
  std::vector<std::string> chosen(words.begin(), words.end());
  std::erase_if(chosen, [](const std::string& word) {
    return word == "json" || word == "typed" || word == "up" || word == "no-maint" || word == "desc";
  });
  with_scene([words = std::vector<std::string>(words.begin(), words.end()), chosen = std::move(chosen),
              reply = std::move(reply)](const RuntimeScene& scene) mutable {
    std::vector<StatRow> rows = stat_rows(scene);
    if (chosen.size() >= 2) {
      const auto proxy = number_of<std::int64_t>(chosen[0]);
      const auto type = number_of<std::int64_t>(chosen[1]).value_or(-1);
      const auto server = chosen.size() > 2 ? number_of<std::int64_t>(chosen[2]).value_or(-1) : -1;
      const bool known = proxy || std::ranges::any_of(rows, [&chosen](const StatRow& row) {
                           return row.text(StatColumn::pxname) == chosen[0];
                         });
      if (!known) return reply(refusal("No such proxy.\n"));
      std::erase_if(rows, [&](const StatRow& row) {
        const bool other_proxy = proxy ? *proxy > 0 && *proxy != row.proxy : row.text(StatColumn::pxname) != chosen[0];
        const bool other_type = type != -1 && (type & (std::int64_t{1} << static_cast<unsigned>(row.kind))) == 0;
        return other_proxy || other_type || (server != -1 && server != row.server);
      });
    }
    std::erase_if(rows, [&words](const StatRow& row) {
      if (row.kind != StatKind::server) return false;
      const std::string_view status = row.text(StatColumn::status);
      return (has(words, "no-maint") && status == "MAINT") || (has(words, "up") && !status.starts_with("UP"));
    });
    reply(write_stat(rows, form_of(words)));
  });
}

void Commands::show_servers(Words words, Reply reply, std::string (*view)(const RuntimeScene&, std::string_view)) {
  const std::string backend = words.empty() ? "" : words[0];
  if (!backend.empty() && sources_.roster->list(backend) == nullptr) return reply(refusal("Can't find backend.\n"));
  with_scene(
      [backend, view, reply = std::move(reply)](const RuntimeScene& scene) mutable { reply(view(scene, backend)); });
}

void Commands::show_servers_state(Words words, Reply reply) { show_servers(words, std::move(reply), servers_state); }
void Commands::show_servers_conn(Words words, Reply reply) { show_servers(words, std::move(reply), servers_conn); }

void Commands::set_server(Words words, Reply reply) {
  Place place;
  if (!find(words, place, reply)) return;
  const std::string what = words.size() > 1 ? words[1] : "";
  const Words rest = words.subspan(std::min<std::size_t>(words.size(), 2));
  if (what == "state") return set_state(place, rest.empty() ? "" : rest[0], std::move(reply));
  if (what == "weight") return set_weight_to(place, rest.empty() ? "" : rest[0], std::move(reply));
  if (what == "addr") return set_address(place, rest, std::move(reply));
  reply(refusal("usage: set server <backend>/<server> addr | state | weight\n"));
}

void Commands::set_state(const Place& place, std::string_view state, Reply reply) {
  const auto found = std::ranges::find(lifecycle::wish_names, state);
  if (found == std::end(lifecycle::wish_names)) {
    return reply(refusal("'set server <srv> state' expects 'ready', 'drain' and 'maint'.\n"));
  }
  const auto outcome = sources_.roster->set_wish(place.backend, place.name,
                                                 static_cast<Wish>(found - std::begin(lifecycle::wish_names)));
  reply(outcome ? "" : refusal(std::string(complaint(outcome.error()))));
}

void Commands::enable_server(Words words, Reply reply) {
  Place place;
  if (find(words, place, reply)) set_state(place, "ready", std::move(reply));
}

void Commands::disable_server(Words words, Reply reply) {
  Place place;
  if (find(words, place, reply)) set_state(place, "maint", std::move(reply));
}

void Commands::set_weight(Words words, Reply reply) {
  Place place;
  if (find(words, place, reply)) set_weight_to(place, words.size() > 1 ? words[1] : "", std::move(reply));
}

// "5", or "50%" of the initial weight.
void Commands::set_weight_to(const Place& place, std::string_view text, Reply reply) {
  if (text.empty()) return reply(refusal("Require <weight> or <weight%>.\n"));
  const bool relative = text.ends_with('%');
  const auto number = number_of<std::int64_t>(text.substr(0, text.size() - (relative ? 1 : 0)));
  if (!number) return reply(refusal("Empty weight string empty or preceded by garbage"));
  std::int64_t weight = *number;
  if (relative) {
    if (weight < 0 || weight > 25600) {
      return reply(refusal("Relative weight can only be between 0 and 25600% inclusive.\n"));
    }
    weight = std::min<std::int64_t>(sources_.roster->initial_weight(place.backend, place.name) * weight / 100, 256);
  }
  if (weight < 0 || weight > 256) return reply(refusal("Absolute weight can only be between 0 and 256 inclusive.\n"));
  const auto outcome = sources_.roster->set_weight(place.backend, place.name, static_cast<std::uint32_t>(weight));
  reply(outcome ? "" : refusal(std::string(complaint(outcome.error()))));
}

// HAProxy's maxconn: concurrent work of all workers. 0: no limit.
void Commands::set_maxconn_server(Words words, Reply reply) {
  Place place;
  if (!find(words, place, reply)) return;
  if (words.size() < 2) return reply(refusal("Require <maxconn>.\n"));
  const auto most = number_of<std::uint32_t>(words[1]);
  if (!most) {
    const bool begins = !words[1].empty() && words[1][0] >= '0' && words[1][0] <= '9';
    return reply(
        refusal(begins ? "Trailing garbage in maxconn string" : "maxconn string empty or preceded by garbage"));
  }
  const auto outcome = sources_.roster->set_limit(place.backend, place.name, *most);
  reply(outcome ? "" : refusal(std::string(complaint(outcome.error()))));
}

void Commands::get_weight(Words words, Reply reply) {
  Place place;
  if (!find(words, place, reply)) return;
  const auto endpoint = sources_.roster->find(place.backend, place.name);
  if (!endpoint) return reply(refusal(std::string(complaint(endpoint.error()))));
  reply(fmt::format("{} (initial {})\n", endpoint->weight, sources_.roster->initial_weight(place.backend, place.name)));
}

void Commands::set_address(const Place& place, Words words, Reply reply) {
  constexpr std::string_view by = " by 'stats socket command'\n";
  if (words.empty()) return reply(refusal("set server <b>/<s> addr requires an address and optionally a port.\n"));
  const auto endpoint = sources_.roster->find(place.backend, place.name);
  if (!endpoint) return reply(refusal(std::string(complaint(endpoint.error()))));
  const base::Address old = endpoint->address;
  const bool v6 = words[0].find(':') != std::string::npos;
  const auto given = base::Address::parse((v6 ? "[" + words[0] + "]" : words[0]) + ":" + std::to_string(old.port()));
  if (!given) return reply(refusal(fmt::format("Invalid addr '{}'{}", words[0], by)));
  base::Address address = *given;
  std::string told = address == old ? "no need to change the addr"
                                    : fmt::format("IP changed from '{}' to '{}'", old.host_text(), address.host_text());
  if (words.size() > 2 && words[1] == "port") {
    const auto port = number_of<std::uint16_t>(words[2]);
    if (!port || *port == 0)
      return reply(refusal(fmt::format("{}, problem converting port '{}' to an int{}", told, words[2], by)));
    address.set_port(*port);
    told += *port == old.port() ? ", no need to change the port"
                                : fmt::format(", port changed from '{}' to '{}'", old.port(), *port);
  }
  const auto outcome = sources_.roster->set_address(place.backend, place.name, address);
  reply(outcome ? CommandReply(told + std::string(by), Severity::warning)
                : refusal(std::string(complaint(outcome.error()))));
}

}  // namespace ebb::admin
