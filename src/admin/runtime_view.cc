#include "admin/runtime_view.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace ebb::admin {
namespace {

using gate::EndpointFacts;
using lifecycle::Health;
using lifecycle::Membership;
using lifecycle::Wish;
using Column = StatColumn;

constexpr std::uint32_t first_proxy = 2;

std::uint64_t seconds_since(base::WallTime then, base::WallTime now) {
  if (then == base::WallTime{} || then > now) return 0;
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now - then).count());
}

bool takes_work(const EndpointFacts& facts) {
  const auto standing = lifecycle::standing({facts.membership, facts.wish, facts.health, facts.why});
  return standing == lifecycle::Standing::chosen && facts.weight > 0;
}

struct Answers {
  std::uint64_t total = 0;
  std::uint64_t by_class[6] = {};  // [0]: other statuses

  void count(std::uint16_t status, std::uint64_t times) {
    total += times;
    by_class[status >= 100 && status < 600 ? status / 100 : 0] += times;
  }
};

void put_answers(StatRow& row, const Answers& answers) {
  row[Column::hrsp_1xx] = answers.by_class[1];
  row[Column::hrsp_2xx] = answers.by_class[2];
  row[Column::hrsp_3xx] = answers.by_class[3];
  row[Column::hrsp_4xx] = answers.by_class[4];
  row[Column::hrsp_5xx] = answers.by_class[5];
  row[Column::hrsp_other] = answers.by_class[0];
  row[Column::req_tot] = answers.total;
}

void put_keys(StatRow& row, const std::string& proxy, std::string server) {
  row[Column::pxname] = proxy;
  row[Column::svname] = std::move(server);
  row[Column::pid] = std::uint64_t{1};
  row[Column::iid] = std::uint64_t{row.proxy};
  row[Column::sid] = std::uint64_t{row.server};
  row[Column::type] = static_cast<std::uint64_t>(row.kind);
  row[Column::mode] = std::string("http");
}

StatRow frontend_row(const RuntimeScene& scene, std::size_t index) {
  StatRow row{.kind = StatKind::frontend, .proxy = first_proxy + static_cast<std::uint32_t>(index)};
  put_keys(row, scene.listeners[index], "FRONTEND");
  Answers answers;
  for (const auto& [key, times] : scene.counters.requests) {
    if (scene.labels->text(key.listener) == scene.listeners[index]) answers.count(key.status, times);
  }
  put_answers(row, answers);
  row[Column::status] = std::string(scene.stopping ? "STOP" : "OPEN");
  return row;
}

// HAProxy counts in one number: 0 to rise - 1 means down, rise to rise + fall - 1 means up.
std::uint64_t check_health(const gate::CheckFacts& check) {
  using State = lifecycle::CheckLife::State;
  switch (check.state) {
    case State::good: return check.rise + check.fall - 1;
    case State::slipping: return check.rise + check.fall - 1 - std::min(check.in_a_row, check.fall - 1);
    case State::mending: return std::min(check.in_a_row, check.rise - 1);
    case State::bad:
  }
  return 0;
}

void put_check(StatRow& row, const gate::CheckFacts& check) {
  const gate::CheckOutcomeFacts& outcome = gate::facts(check.last.outcome);
  row[Column::chkfail] = check.failed;
  row[Column::chkdown] = check.falls;
  row[Column::check_status] = std::string(outcome.code);
  if (check.last.status != 0) row[Column::check_code] = std::uint64_t{check.last.status};
  if (check.last.outcome != gate::CheckOutcome::none) {
    row[Column::check_duration] = static_cast<std::uint64_t>(base::to_ms(check.taken));
  }
  row[Column::last_chk] = check.last.status == 0 ? std::string(outcome.words)
                                                 : fmt::format("{} (status {})", outcome.words, check.last.status);
  row[Column::check_desc] = std::string(outcome.words);
  row[Column::check_rise] = std::uint64_t{check.rise};
  row[Column::check_fall] = std::uint64_t{check.fall};
  row[Column::check_health] = check_health(check);
}

StatRow server_row(const RuntimeScene& scene, std::size_t backend, std::size_t index) {
  const EndpointFacts& facts = scene.backends[backend].endpoints[index];
  StatRow row{
      .kind = StatKind::server, .proxy = proxy_number(scene, backend), .server = static_cast<std::uint32_t>(index + 1)};
  put_keys(row, facts.backend, facts.name);
  Answers answers;
  for (std::size_t i = 1; i < std::size(facts.tally.by_class); ++i) answers.by_class[i] = facts.tally.by_class[i];
  answers.total = facts.tally.requests;
  put_answers(row, answers);
  row[Column::qcur] = std::uint64_t{0};
  row[Column::scur] = std::uint64_t{facts.in_flight.total()};
  if (facts.work_max > 0) row[Column::slim] = std::uint64_t{facts.work_max};
  row[Column::stot] = facts.tally.requests;
  row[Column::lbtot] = facts.tally.requests;
  row[Column::bin] = facts.tally.bytes_out;  // HAProxy counts from the client's side
  row[Column::bout] = facts.tally.bytes_in;
  row[Column::econ] = facts.tally.connect_failures;
  row[Column::eresp] = facts.tally.failures;
  row[Column::wretr] = facts.tally.retries;
  row[Column::status] = std::string(server_status(facts));
  row[Column::weight] = std::uint64_t{facts.weight};
  row[Column::uweight] = std::uint64_t{facts.weight};
  row[Column::act] = std::uint64_t{1};
  row[Column::bck] = std::uint64_t{0};
  row[Column::lastchg] = seconds_since(facts.since, scene.now);
  row[Column::addr] = facts.address.text();
  row[Column::connect] = facts.tally.connects;
  row[Column::reuse] = facts.tally.requests > facts.tally.connects ? facts.tally.requests - facts.tally.connects : 0;
  row[Column::srv_icur] = std::uint64_t{facts.idle};
  row[Column::idle_conn_cur] = std::uint64_t{facts.idle};
  row[Column::used_conn_cur] = std::uint64_t{facts.connections - std::min(facts.idle, facts.connections)};
  if (facts.check) put_check(row, *facts.check);
  return row;
}

std::uint64_t number(const StatRow& row, Column column) {
  const auto* const found = std::get_if<std::uint64_t>(&row[column]);
  return found == nullptr ? 0 : *found;
}

StatRow backend_row(const RuntimeScene& scene, std::size_t backend, std::span<const StatRow> servers) {
  const BackendSum& sum = scene.backends[backend];
  StatRow row{.kind = StatKind::backend, .proxy = proxy_number(scene, backend)};
  put_keys(row, sum.facts.name, "BACKEND");
  constexpr Column added[] = {Column::scur,     Column::stot,     Column::bin,      Column::bout,
                              Column::econ,     Column::eresp,    Column::wretr,    Column::hrsp_1xx,
                              Column::hrsp_2xx, Column::hrsp_3xx, Column::hrsp_4xx, Column::hrsp_5xx,
                              Column::lbtot,    Column::connect,  Column::reuse,    Column::req_tot};
  for (const Column column : added) {
    std::uint64_t total = 0;
    for (const StatRow& server : servers) total += number(server, column);
    row[column] = total;
  }
  std::uint64_t active = 0;
  std::uint64_t weight = 0;
  for (const EndpointFacts& facts : sum.endpoints) {
    if (!takes_work(facts)) continue;
    active += 1;
    weight += facts.weight;
  }
  row[Column::hrsp_other] = std::uint64_t{0};
  row[Column::qcur] = std::uint64_t{sum.facts.queued};
  row[Column::status] = std::string(active > 0 || sum.endpoints.empty() ? "UP" : "DOWN");
  row[Column::weight] = weight;
  row[Column::uweight] = weight;
  row[Column::act] = active;
  row[Column::bck] = std::uint64_t{0};
  return row;
}

bool wanted(const BackendSum& sum, std::string_view backend) { return backend.empty() || sum.facts.name == backend; }

}  // namespace

std::uint32_t proxy_number(const RuntimeScene& scene, std::size_t backend) {
  return first_proxy + static_cast<std::uint32_t>(scene.listeners.size() + backend);
}

// HAProxy's statuses that exporters know.
std::string_view server_status(const EndpointFacts& facts) {
  if (facts.wish == Wish::maint || facts.membership == Membership::gone) return "MAINT";
  if (facts.health == Health::down) return "DOWN";
  if (facts.wish == Wish::drain || facts.membership == Membership::leaving) return "DRAIN";
  return facts.health == Health::suspect ? "UP 1/2" : "UP";
}

std::vector<StatRow> stat_rows(const RuntimeScene& scene) {
  std::vector<StatRow> rows;
  for (std::size_t i = 0; i < scene.listeners.size(); ++i) rows.push_back(frontend_row(scene, i));
  for (std::size_t i = 0; i < scene.backends.size(); ++i) {
    const std::size_t first = rows.size();
    for (std::size_t j = 0; j < scene.backends[i].endpoints.size(); ++j) rows.push_back(server_row(scene, i, j));
    rows.push_back(backend_row(scene, i, std::span(rows).subspan(first)));
  }
  return rows;
}

std::vector<InfoField> info_fields(const RuntimeScene& scene, const observe::ProcessFacts& process) {
  const observe::Counters& counters = scene.counters;
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(scene.now.time_since_epoch()).count();
  const auto start = static_cast<std::int64_t>(process.start_time_seconds);
  const std::int64_t uptime = std::max<std::int64_t>(now - start, 0);
  std::uint64_t clients = 0;
  for (const std::uint64_t count : counters.client_connections) clients += count;
  std::uint64_t requests = 0;
  for (const auto& [key, times] : counters.requests) requests += times;
  const auto text = [](auto value) { return fmt::format("{}", value); };
  return {
      {0, "Name", "POS", "str", "Ebbgate"},
      {1, "Version", "POS", "str", scene.version},
      {3, "Nbthread", "CGS", "u32", text(scene.workers)},
      {4, "Nbproc", "CGS", "u32", "1"},
      {5, "Process_num", "KGP", "u32", "1"},
      {6, "Pid", "SGP", "u32", text(::getpid())},
      {7, "Uptime", "MDP", "str",
       fmt::format("{}d {}h{:02}m{:02}s", uptime / 86400, uptime / 3600 % 24, uptime / 60 % 60, uptime % 60)},
      {8, "Uptime_sec", "MDP", "u32", text(uptime)},
      {13, "Ulimit-n", "CLP", "u32", text(process.max_fds)},
      {14, "Maxsock", "CLP", "u32", text(process.max_fds)},
      {15, "Maxconn", "CLP", "u32", text(process.max_fds / 2)},
      {17, "CurrConns", "MGP", "u32", text(clients)},
      {18, "CumConns", "MCP", "u32", text(counters.client_accepted)},
      {19, "CumReq", "MCP", "u32", text(requests)},
      {22, "CumSslConns", "MCP", "u32", text(counters.tls_handshakes)},
      {50, "node", "COS", "str", scene.node},
      {52, "Stopping", "MGP", "u32", scene.stopping ? "1" : "0"},
      {55, "Listeners", "MGP", "u32", text(scene.listeners.size())},
      {61, "TotalBytesOut", "MGP", "u64", text(counters.client_bytes_out)},
      {62, "TotalSplicdedBytesOut", "MGP", "u64", text(counters.spliced_bytes)},
      {70, "Start_time_sec", "MDP", "u32", text(start)},
      {1000, "SilentThreads", "MGP", "u32", text(scene.workers_silent)},  // ours: workers missing from all sums
  };
}

std::string servers_state(const RuntimeScene& scene, std::string_view backend) {
  std::string out =
      "1\n# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight "
      "srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state "
      "bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr "
      "srv_agent_addr srv_agent_port\n";
  for (std::size_t i = 0; i < scene.backends.size(); ++i) {
    const BackendSum& sum = scene.backends[i];
    if (!wanted(sum, backend)) continue;
    for (std::size_t j = 0; j < sum.endpoints.size(); ++j) {
      const EndpointFacts& facts = sum.endpoints[j];
      // HAProxy's bits and numbers: 1 forced maintenance, 8 forced drain; 0 stopped, 2 running.
      const bool maint = facts.wish == Wish::maint || facts.membership == Membership::gone;
      const bool drain = facts.wish == Wish::drain || facts.membership == Membership::leaving;
      const bool stopped = maint || facts.health == Health::down;
      out += fmt::format("{} {} {} {} {} {} {} {} {} {} 1 0 {} 0 0 0 0 - {} - 0 0 - - 0\n", proxy_number(scene, i),
                         sum.facts.name, j + 1, facts.name, facts.address.host_text(), stopped ? 0 : 2,
                         maint ? 1 : (drain ? 8 : 0), facts.weight,
                         scene.roster->initial_weight(facts.backend, facts.name), seconds_since(facts.since, scene.now),
                         stopped ? 0 : 2, facts.address.port());
    }
  }
  return out;
}

std::string servers_conn(const RuntimeScene& scene, std::string_view backend) {
  std::string out =
      "# bkname/svname bkid/svid addr port - purge_delay used_cur used_max need_est unsafe_nb safe_nb idle_lim "
      "idle_cur "
      "idle_per_thr[1]\n";
  for (std::size_t i = 0; i < scene.backends.size(); ++i) {
    const BackendSum& sum = scene.backends[i];
    if (!wanted(sum, backend)) continue;
    for (std::size_t j = 0; j < sum.endpoints.size(); ++j) {
      const EndpointFacts& facts = sum.endpoints[j];
      const std::uint32_t used = facts.connections - std::min(facts.idle, facts.connections);
      out += fmt::format("{}/{} {}/{} {} {} - 0 {} {} {} 0 {} -1 {} {}\n", sum.facts.name, facts.name,
                         proxy_number(scene, i), j + 1, facts.address.host_text(), facts.address.port(), used, used,
                         used, facts.idle, facts.idle, facts.idle);
    }
  }
  return out;
}

std::string backend_names(const RuntimeScene& scene) {
  std::string out = "# name\n";
  for (const BackendSum& sum : scene.backends) out += sum.facts.name + "\n";
  return out;
}

}  // namespace ebb::admin
