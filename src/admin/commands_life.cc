// Commands that add and remove servers and end sessions.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "admin/ask_workers.h"
#include "admin/commands.h"
#include "admin/pages.h"
#include "config/values.h"
#include "routes/spelling.h"

namespace ebb::admin {
namespace {

using lifecycle::Wish;

constexpr base::Duration command_wait_max = std::chrono::hours{23};
constexpr base::Duration look_again = std::chrono::milliseconds{20};
constexpr std::string_view not_in_maintenance = "Only servers in maintenance mode can be deleted.";
constexpr std::string_view still_used = "Server still has connections attached to it, cannot remove it.";

// Milliseconds if there is no unit, as in HAProxy.
std::optional<base::Duration> delay_of(const std::string& text) {
  std::int64_t milliseconds = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), milliseconds);
  if (!text.empty() && parsed.ptr == text.data() + text.size() && parsed.ec == std::errc()) {
    if (milliseconds < 0 ||
        milliseconds > std::chrono::duration_cast<std::chrono::milliseconds>(command_wait_max).count()) {
      return std::nullopt;
    }
    return std::chrono::milliseconds{milliseconds};
  }
  const auto given = config::DurationFormat::parse(text, {});
  if (!given || *given > command_wait_max) return std::nullopt;
  return *given;
}

// A session's name: its worker and its handle there.
std::string session_id(std::size_t worker, base::Handle handle) {
  return fmt::format("0x{:x}{:08x}{:08x}", worker + 1, handle.generation, handle.slot);
}

struct SessionName {
  std::size_t worker;
  base::Handle handle;
};

std::optional<SessionName> read_session_id(std::string_view text) {
  if (!text.starts_with("0x") || text.size() < 19 || text.size() > 26) return std::nullopt;
  const auto hex = [text](std::size_t from, std::size_t size) -> std::optional<std::uint64_t> {
    std::uint64_t value = 0;
    const std::string_view digits = text.substr(from, size);
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (parsed.ptr != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const auto worker = hex(2, text.size() - 18);
  const auto generation = hex(text.size() - 16, 8);
  const auto slot = hex(text.size() - 8, 8);
  if (!worker || !generation || !slot || *worker == 0) return std::nullopt;
  return SessionName{static_cast<std::size_t>(*worker - 1),
                     {static_cast<std::uint32_t>(*slot), static_cast<std::uint32_t>(*generation)}};
}

std::string session_line(std::size_t worker, const gate::ConnectionFacts& facts) {
  const gate::ExchangeFacts none;
  const gate::ExchangeFacts& exchange = facts.exchanges.empty() ? none : facts.exchanges.front();
  const auto seconds = [](base::Duration duration) {
    return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  };
  const auto or_none = [](const std::string& name, std::string_view instead) {
    return name.empty() ? std::string(instead) : name;
  };
  return fmt::format(
      "{}: proto={} src={} fe={} be={} srv={} ts={:02} age={}s idle={}s state={} streams={} rq={} rp={}\n",
      session_id(worker, facts.handle), facts.client.family() == AF_INET6 ? "tcpv6" : "tcpv4", facts.client.text(),
      facts.listener, or_none(exchange.backend, "<NONE>"), or_none(exchange.endpoint, "<none>"), worker,
      seconds(facts.age), seconds(facts.in_state), facts.state, facts.exchanges.size(), exchange.request_bytes,
      exchange.response_bytes);
}

// Reads "weight 5 maxconn 100"; returns the error, if any.
std::optional<std::string> read_settings(std::span<const std::string> words, gate::ListedEndpoint& endpoint) {
  const auto read = [](const std::string& text, std::uint32_t& number) {
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    return !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& key = words[i];
    // HAProxy's keywords for checks and pools: here the backend's configuration decides.
    if (key == "check" || key == "enabled" || key == "disabled") continue;
    if (i + 1 == words.size()) return fmt::format("'{}' expects an argument.\n", key);
    const std::string& value = words[++i];
    std::uint32_t number = 0;
    if (key == "weight") {
      if (!read(value, number) || number > 256) {
        return fmt::format("weight of server {} is not within 0 and 256 ({}).\n", endpoint.name, value);
      }
      endpoint.weight = number;
    } else if (key == "maxconn") {
      if (!read(value, number)) return fmt::format("maxconn of server {} is no number ({}).\n", endpoint.name, value);
      endpoint.limit = number == 0 ? nullptr : std::make_shared<gate::SharedLimit>(number);
    } else if (key != "inter" && key != "rise" && key != "fall" && key != "port") {
      return fmt::format("unknown keyword '{}'\n", key);
    }
  }
  return std::nullopt;
}

}  // namespace

void Commands::add_server(Words words, Reply reply) {
  const std::string_view text = words.empty() ? std::string_view() : words[0];
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return reply(refusal("Require 'backend/server'."));
  const std::string_view backend = text.substr(0, slash);
  const std::string_view name = text.substr(slash + 1);
  if (sources_.roster->list(backend) == nullptr) return reply(refusal("No such backend."));
  if (words.size() < 2) return reply(refusal("'server' expects <name> and <addr>[:<port>] as arguments.\n"));
  if (!routes::is_name(std::string(name))) return reply(refusal("invalid character in server name\n"));
  const auto address = base::Address::parse(words[1]);
  if (!address || address->port() == 0) {
    return reply(refusal(fmt::format("'server {}' : invalid address: '{}'\n", name, words[1])));
  }
  gate::ListedEndpoint endpoint{.name = std::string(name), .address = *address, .wish = Wish::maint};
  if (auto complaint = read_settings(words.subspan(2), endpoint)) return reply(refusal(std::move(*complaint)));
  const auto outcome = sources_.roster->add(backend, std::move(endpoint));
  if (outcome) return reply(success("New server registered.\n"));
  reply(refusal(outcome.error() == control::RosterRefusal::too_many
                    ? "Too many servers were added.\n"
                    : "Already exists a server with the same name in backend.\n"));
}

void Commands::look_removable(const Place& place, std::move_only_function<void(std::string, std::uint32_t)> then) {
  const auto endpoint = sources_.roster->find(place.backend, place.name);
  if (!endpoint) return then("No such server.", 0);
  if (endpoint->wish != Wish::maint) return then(std::string(not_in_maintenance), 0);
  ask_workers<gate::InFlight>(
      sources_, server_.door(), server_.alarms(), worker_timeout,
      [this, identity = endpoint->identity](std::size_t worker) { return sources_.in_flight(worker, identity); },
      [then = std::move(then)](const Replies<gate::InFlight>& replies) mutable {
        const bool busy = std::ranges::any_of(replies, [](const auto& seen) { return !seen || seen->total() > 0; });
        std::uint32_t cut = 0;
        for (const auto& seen : replies) cut += seen ? seen->cut : 0;
        then(busy ? std::string(still_used) : "", cut);
      });
}

void Commands::del_server(Words words, Reply reply) {
  Place place;
  if (!find(words, place, reply, "")) return;
  look_removable(place, [this, place, reply = std::move(reply)](std::string why_not, std::uint32_t) mutable {
    if (!why_not.empty()) return reply(refusal(std::move(why_not)));
    const auto outcome = sources_.roster->remove(place.backend, place.name);
    reply(outcome ? success("Server deleted.") : refusal(std::string(not_in_maintenance)));
  });
}

void Commands::wait(Words words, Reply reply) {
  const auto delay = words.empty() ? std::nullopt : delay_of(words[0]);
  if (!delay) return reply(refusal("Expects a duration in milliseconds.\n"));
  if (words.size() == 1) {
    server_.alarms().run_after(*delay, [reply = std::move(reply)]() mutable { reply(success("Done.\n")); });
    return;
  }
  if (words[1] != "srv-removable") return reply(refusal("Unknown condition to wait for.\n"));
  Place place;
  if (find(words.subspan(2), place, reply)) wait_removable(place, server_.monotonic() + *delay, std::move(reply));
}

void Commands::wait_removable(const Place& place, base::Instant deadline, Reply reply) {
  look_removable(place, [this, place, deadline, reply = std::move(reply)](std::string why_not,
                                                                          std::uint32_t cut) mutable {
    if (why_not.empty() && cut > 0) return reply(success(fmt::format("Done. {} requests or tunnels were cut.\n", cut)));
    if (why_not.empty()) return reply(success("Done.\n"));
    if (why_not != still_used) return reply(refusal("Failed. " + why_not + "\n"));
    if (server_.monotonic() >= deadline) return reply(refusal("Wait delay expired. " + why_not + "\n"));
    const base::Duration left = deadline - server_.monotonic();
    server_.alarms().run_after(std::min(left, look_again), [this, place, deadline, reply = std::move(reply)]() mutable {
      wait_removable(place, deadline, std::move(reply));
    });
  });
}

void Commands::show_sess(Words words, Reply reply) {
  const auto only = words.empty() ? std::optional<SessionName>() : read_session_id(words[0]);
  if (!words.empty() && words[0] != "all" && !only) return reply(refusal("Session not found.\n"));
  using Facts = std::vector<gate::ConnectionFacts>;
  ask_workers<Facts>(
      sources_, server_.door(), server_.alarms(), worker_timeout,
      [this](std::size_t worker) { return sources_.connections(worker, {.limit = sessions_max}); },
      [only, reply = std::move(reply)](const Replies<Facts>& replies) mutable {
        std::string lines;
        for (std::size_t worker = 0; worker < replies.size(); ++worker) {
          if (!replies[worker]) continue;
          for (const gate::ConnectionFacts& facts : *replies[worker]) {
            if (!only || (only->worker == worker && only->handle == facts.handle)) lines += session_line(worker, facts);
          }
        }
        reply(only && lines.empty() ? refusal("Session not found.\n") : std::move(lines));
      });
}

void Commands::shutdown_session(Words words, Reply reply) {
  if (words.empty()) return reply(refusal("Session pointer expected (use 'show sess').\n"));
  const auto session = read_session_id(words[0]);
  if (!session || session->worker >= sources_.workers) return reply(refusal("No such session (use 'show sess').\n"));
  sources_.post(session->worker,
                [&sources = sources_, session = *session, door = server_.door(), reply = std::move(reply)]() mutable {
                  const bool ended = sources.end_connection(session.worker, session.handle);
                  door->post([ended, reply = std::move(reply)]() mutable {
                    reply(ended ? "" : refusal("No such session (use 'show sess').\n"));
                  });
                });
}

void Commands::shutdown_sessions_server(Words words, Reply reply) {
  Place place;
  if (!find(words, place, reply)) return;
  const auto endpoint = sources_.roster->find(place.backend, place.name);
  if (!endpoint) return reply(refusal("No such server.\n"));
  struct Ended {};
  ask_workers<Ended>(
      sources_, server_.door(), server_.alarms(), worker_timeout,
      [this, identity = endpoint->identity](std::size_t worker) {
        sources_.end_work(worker, identity);
        return Ended{};
      },
      [reply = std::move(reply)](const Replies<Ended>&) mutable { reply(""); });
}

}  // namespace ebb::admin
