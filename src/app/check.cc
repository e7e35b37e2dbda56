#include "app/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "admin/openings.h"
#include "config/load.h"
#include "control/materials.h"
#include "observe/text_escape.h"

namespace ebb::app {

namespace {

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string json_string(std::string_view text) {
  std::string out = "\"";
  observe::append_json_escaped(out, text);
  return out + "\"";
}

std::string json_of(const config::Diagnostic& error) {
  return fmt::format(R"({{"file":{},"line":{},"column":{},"key":{},"reason":{},"remedy":{}}})", json_string(error.file),
                     error.line, error.column, json_string(error.key), json_string(error.reason),
                     json_string(error.remedy));
}

}  // namespace

std::string CheckReport::text() const {
  if (!ok()) return config::text_of(errors) + "\n";
  return fmt::format("{}: ok ({}, {}, {}, {})\n", file, counted(listeners, "listener"), counted(routes, "route"),
                     counted(backends, "backend"), counted(endpoints, "endpoint"));
}

std::string CheckReport::json() const {
  std::string list;
  for (const config::Diagnostic& error : errors) list += (list.empty() ? "" : ",") + json_of(error);
  return fmt::format(R"({{"file":{},"ok":{},"listeners":{},"routes":{},"backends":{},"endpoints":{},"errors":[{}]}})"
                     "\n",
                     json_string(file), ok(), listeners, routes, backends, endpoints, list);
}

CheckReport check(const std::string& config_path) {
  CheckReport report{.file = config_path};
  auto loaded = config::load(config_path);
  if (!loaded) {
    report.errors = std::move(loaded.error());
    return report;
  }
  const routes::Model& model = loaded->model;
  report.listeners = model.listeners.size();
  report.routes = model.routes.size();
  report.backends = model.backends.size();
  for (const routes::BackendModel& backend : model.backends) report.endpoints += backend.endpoints.size();

  config::Diagnostics problems = control::build_materials(model, std::make_shared<wire::TicketKeys>()).problems;
  std::ranges::move(problems, std::back_inserter(report.errors));
  const auto admin = admin::openings_of(loaded->startup);
  if (!admin) report.errors.push_back({config_path, 0, 0, "admin", admin.error(), ""});
  return report;
}

}  // namespace ebb::app
