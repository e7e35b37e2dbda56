// The output of the runtime socket in HAProxy's terms: backends are proxies, endpoints are servers, listeners are
// frontends. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "admin/endpoint_sums.h"
#include "admin/stat_table.h"
#include "base/labels.h"
#include "control/roster.h"
#include "observe/counters.h"
#include "observe/process_facts.h"

namespace ebb::admin {

struct RuntimeScene {
  std::vector<BackendSum> backends;
  std::vector<std::string> listeners;
  observe::Counters counters;
  const base::Labels* labels = nullptr;
  const control::Roster* roster = nullptr;
  base::WallTime now;
  std::size_t workers = 0;
  std::size_t workers_silent = 0;
  bool stopping = false;
  std::string version;
  std::string node;
};

// HAProxy's numbers of proxies: listeners first, from 2 on.
std::uint32_t proxy_number(const RuntimeScene& scene, std::size_t backend);

std::string_view server_status(const gate::EndpointFacts& facts);

std::vector<StatRow> stat_rows(const RuntimeScene& scene);
std::vector<InfoField> info_fields(const RuntimeScene& scene, const observe::ProcessFacts& process);
// `backend` "": all backends.
std::string servers_state(const RuntimeScene& scene, std::string_view backend);
std::string servers_conn(const RuntimeScene& scene, std::string_view backend);
std::string backend_names(const RuntimeScene& scene);

}  // namespace ebb::admin
