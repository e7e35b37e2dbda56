#include "app/drain_command.h"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "app/cli.h"
#include "app/http_client.h"
#include "config/token_file.h"
#include "config/values.h"
#include "observe/json_writer.h"
#include "observe/text_escape.h"
#include "wire/json_reader.h"

namespace ebb::app {
namespace {

using std::chrono::seconds;

constexpr base::Duration poll_every = seconds{1};  // wait of one question; then show progress
constexpr base::Duration connect_timeout = seconds{1};
// Enough for a router that restarts.
constexpr base::Duration absent_timeout = seconds{1};
constexpr base::Duration silent_timeout = seconds{3};  // besides the question's own wait
constexpr int retry_pause_ms = 200;
constexpr std::size_t words_bytes_max = 1000;
constexpr std::chrono::milliseconds progress_every{200};

enum class DrainOutcome : std::uint8_t {
  open,
  drained,
  unknown,  // that router does not have the endpoint
  absent,   // no router there, so no connections either
  failed,
};
constexpr std::string_view outcome_names[] = {"open", "drained", "unknown", "absent", "failed"};

struct RouterState {
  std::string name;  // its address, or the name without address
  base::Address address;
  DrainOutcome outcome = DrainOutcome::open;
  std::string words;      // the remaining work, or the failure
  std::uint64_t cut = 0;  // requests and tunnels
};

// All replicas, each on its own thread.
class DrainAsk {
 public:
  DrainAsk(const DrainArguments& arguments, std::vector<RouterState> routers, std::string token, base::Duration timeout)
      : arguments_(arguments),
        token_(std::move(token)),
        deadline_(clock_.now() + timeout),
        started_(clock_.now()),
        routers_(std::move(routers)) {}

  int run() {
    std::vector<std::jthread> threads;
    followed_ = routers_.size();
    for (std::size_t i = 0; i < routers_.size(); ++i) {
      threads.emplace_back([this, i] {
        if (routers_[i].outcome == DrainOutcome::open) follow(i);
        let_go();
      });
    }
    std::unique_lock lock(mutex_);
    do {
      progress();
    } while (!all_let_go_.wait_for(lock, progress_every, [this] { return followed_ == 0; }));
    lock.unlock();
    threads.clear();
    return report();
  }

 private:
  // From the first question to the receipt.
  void follow(std::size_t index) {
    std::string id;
    std::optional<base::Instant> silent_since;
    std::optional<HttpFailure> failure;  // of the last question
    while (clock_.now() < deadline_) {
      const base::Instant asked = clock_.now();
      const auto answer = ask(index, id);
      if (!answer) {
        failure = answer.error();
        if (!silent_since) silent_since = asked;
        if (clock_.now() - *silent_since >= (failure->absent ? absent_timeout : silent_timeout)) break;
        ::poll(nullptr, 0, retry_pause_ms);
        continue;
      }
      silent_since.reset();
      failure.reset();
      if (answer->status == 404 && !id.empty()) {
        id.clear();  // that router was restarted
        continue;
      }
      if (answer->status == 404 || (answer->status == 403 && arguments_.self)) {
        return settle(index, DrainOutcome::unknown, "there is no such endpoint");
      }
      const auto value = wire::read_json(answer->body);
      if (answer->status >= 300 || !value || value->find("id") == nullptr) {
        return settle(index, DrainOutcome::failed, fmt::format("status {}: {}", answer->status, reason_of(value)));
      }
      id = value->find("id")->text;
      if (!is_drain_id(id)) return settle(index, DrainOutcome::failed, "the router gave its drain an invalid id");
      const wire::JsonValue* const state = value->find("state");
      note_cut(index, *value);
      if (state != nullptr && state->text == "drained") return settle(index, DrainOutcome::drained, "");
      if (state != nullptr && state->text == "ended")
        return settle(index, DrainOutcome::failed, "somebody ended the drain");
      note(index, open_work(*value));
    }
    if (!failure) return;
    settle(index, failure->absent ? DrainOutcome::absent : DrainOutcome::failed,
           failure->words + (failure->absent ? ": there is no router, so it has no connections" : ""));
  }

  std::expected<HttpAnswer, HttpFailure> ask(std::size_t index, const std::string& id) {
    const base::Duration left = std::max(deadline_ - clock_.now(), base::Duration::zero());
    const base::Duration wait = id.empty() ? base::Duration::zero() : std::min(left, poll_every);
    HttpQuestion question{
        .method = "GET", .target = fmt::format("/api/v1/drains/{}?wait={}ms", id, base::to_ms(wait)), .token = token_};
    if (id.empty()) {
      question.method = "POST";
      question.target = "/api/v1/drains";
      observe::JsonWriter json(question.body);
      json.begin_object();
      if (!arguments_.self) json.member("endpoint", arguments_.endpoint);
      json.member("serve_if_last", !arguments_.not_if_last).end_object();
    }
    return ask_over_http(routers_[index].address, question,
                         {.connect = connect_timeout, .answer = wait + silent_timeout}, clock_);
  }

  // The id becomes part of a request's target.
  static bool is_drain_id(std::string_view id) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    return !id.empty() && id.size() <= 128 && id.find_first_not_of(letters) == std::string_view::npos;
  }

  static std::string reason_of(const std::expected<wire::JsonValue, wire::JsonFault>& value) {
    const wire::JsonValue* const error = value ? value->find("error") : nullptr;
    const wire::JsonValue* const reason = error == nullptr ? nullptr : error->find("reason");
    return reason == nullptr ? "is that the admin listener of a router?" : reason->text;
  }

  // "2 streaming, 1 tunnels"
  static std::string open_work(const wire::JsonValue& drain) {
    std::string words;
    const wire::JsonValue* const endpoints = drain.find("endpoints");
    for (std::size_t i = 0; endpoints != nullptr && i < endpoints->items.size(); ++i) {
      const wire::JsonValue* const in_flight = endpoints->items[i].find("in_flight");
      if (in_flight == nullptr) continue;
      for (const wire::JsonMember& kind : in_flight->members) {
        if (kind.name == "total" || kind.value.text == "0") continue;
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", kind.value.text, kind.name);
      }
    }
    return words.empty() ? "work that began a moment ago" : words;
  }

  void settle(std::size_t index, DrainOutcome outcome, const std::string& words) {
    const std::lock_guard lock(mutex_);
    routers_[index].outcome = outcome;
    routers_[index].words =
        observe::visible(words.substr(0, words_bytes_max));  // another program's text, shown on a terminal
  }
  void note_cut(std::size_t index, const wire::JsonValue& drain) {
    const wire::JsonValue* const cut = drain.find("cut");
    std::uint64_t count = 0;
    if (cut != nullptr) std::from_chars(cut->text.data(), cut->text.data() + cut->text.size(), count);
    const std::lock_guard lock(mutex_);
    routers_[index].cut = count;
  }
  void note(std::size_t index, const std::string& words) { settle(index, DrainOutcome::open, words); }

  std::size_t count(DrainOutcome outcome) const {
    return static_cast<std::size_t>(std::ranges::count(routers_, outcome, &RouterState::outcome));
  }
  // Routers that send the endpoint nothing any more.
  std::size_t settled() const {
    return count(DrainOutcome::drained) + count(DrainOutcome::unknown) + count(DrainOutcome::absent);
  }
  std::uint64_t cut() const {
    std::uint64_t sum = 0;
    for (const RouterState& router : routers_) sum += router.cut;
    return sum;
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    followed_ -= 1;
    all_let_go_.notify_one();
  }

  // On a terminal, rewrites one line; elsewhere, prints a line only for news. Call with the lock held.
  void progress() {
    if (arguments_.json) return;
    std::string line =
        fmt::format("draining {}: {} of {} routers have acknowledged", subject(), settled(), routers_.size());
    for (const RouterState& router : routers_) {
      if (router.outcome == DrainOutcome::open && !router.words.empty()) {
        line += fmt::format("; {} has {}", router.name, router.words);
      }
    }
    if (line == last_line_) return;
    last_line_ = line;
    if (::isatty(STDERR_FILENO) != 0) {
      fmt::print(stderr, "\r\x1b[K{}", line);
    } else {
      fmt::print(stderr, "{}\n", line);
    }
  }

  std::string subject() const { return arguments_.self ? "this endpoint" : observe::visible(arguments_.endpoint); }

  int report() {
    const std::lock_guard lock(mutex_);
    if (!arguments_.json && ::isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K");
    const bool all = settled() == routers_.size() && count(DrainOutcome::drained) > 0;
    int status = cut() > 0 ? exit_cut : exit_ok;
    if (!all) status = count(DrainOutcome::open) > 0 ? exit_deadline : exit_failed;
    if (arguments_.json) {
      print_json(all);
      return status;
    }
    const auto took = base::to_ms(clock_.now() - started_);
    if (all) {
      fmt::print("drained: {} on {} of {} routers after {}.{:03} s\n", subject(), count(DrainOutcome::drained),
                 routers_.size(), took / 1000, took % 1000);
    }
    if (cut() > 0) fmt::print(stderr, "{} requests or tunnels were cut before their end\n", cut());
    for (const RouterState& router : routers_) {
      if (router.outcome == DrainOutcome::drained) continue;
      fmt::print(stderr, "{}: {}: {}\n", router.name, outcome_names[static_cast<std::size_t>(router.outcome)],
                 router.words.empty() ? "no answer yet" : router.words);
    }
    return status;
  }

  void print_json(bool all) {
    std::string out;
    observe::JsonWriter json(out);
    const auto took = base::to_ms(clock_.now() - started_);
    json.begin_object().member("drained", all).member("cut", cut()).member("took_ms", took);
    json.key("routers").begin_array();
    for (const RouterState& router : routers_) {
      json.begin_object()
          .member("address", router.name)
          .member("state", outcome_names[static_cast<std::size_t>(router.outcome)])
          .member("words", router.words)
          .end_object();
    }
    json.end_array().end_object();
    fmt::print("{}\n", out);
  }

  const DrainArguments& arguments_;
  const base::SystemClock clock_;
  const std::string token_;
  const base::Instant deadline_;
  const base::Instant started_;
  std::mutex mutex_;  // guards the states
  std::condition_variable all_let_go_;
  std::size_t followed_ = 0;
  std::vector<RouterState> routers_;
  std::string last_line_;
};

// Every address of every name: replicas behind a headless service share a name.
std::expected<std::vector<RouterState>, std::string> resolve_routers(std::string_view list) {
  std::vector<RouterState> routers;
  const auto add = [&routers](const base::Address& address) {
    routers.push_back({.name = address.text(), .address = address});
  };
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string one(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
    if (const auto numeric = base::Address::parse(one)) {
      add(*numeric);
      continue;
    }
    const std::size_t colon = one.rfind(':');
    if (colon == std::string::npos) return std::unexpected("\"" + one + "\" has no port; give NAME:PORT");
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int error = ::getaddrinfo(one.substr(0, colon).c_str(), one.substr(colon + 1).c_str(), &wanted, &found);
    if (error != 0) {
      const bool absent = error == EAI_NONAME || error == EAI_NODATA;
      routers.push_back({.name = observe::visible(one),
                         .outcome = absent ? DrainOutcome::absent : DrainOutcome::failed,
                         .words = std::string(::gai_strerror(error)) +
                                  (absent ? ": the name has no address, so there is no router behind it" : "")});
      continue;
    }
    for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
      add(base::Address::from(each->ai_addr));
    }
    ::freeaddrinfo(found);
  }
  if (routers.empty()) return std::unexpected("there is no router to ask; give --routers HOST:PORT,HOST:PORT");
  return routers;
}

}  // namespace

int drain_endpoint(const DrainArguments& arguments) {
  const auto refuse = [](const std::string& why) {
    fmt::print(stderr, "ebbgate drain: {}\n", observe::visible(why));
    return exit_failed;
  };
  const auto timeout = config::DurationFormat::parse(arguments.timeout, {});
  if (!timeout) return refuse("--timeout: " + timeout.error().reason + "; " + timeout.error().remedy);
  std::string token;
  if (!arguments.token_file.empty()) {
    const auto text = config::read_token(arguments.token_file);
    if (!text) return refuse(text.error());
    token = *text;
  }
  auto routers = resolve_routers(arguments.routers);
  if (!routers) return refuse(routers.error());
  return DrainAsk(arguments, std::move(*routers), std::move(token), *timeout).run();
}

}  // namespace ebb::app
