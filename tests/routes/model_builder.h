// Short models for the tests of this room.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "routes/snapshot.h"

namespace ebb::routes {

inline BackendModel backend(std::string name) {
  BackendModel model;
  model.name = std::move(name);
  model.endpoints.push_back({.name = "a", .address = *base::Address::parse("127.0.0.1:9000")});
  return model;
}

inline ListenerModel listener(std::string name, const char* bind) {
  ListenerModel model;
  model.name = std::move(name);
  model.bind = *base::Address::parse(bind);
  return model;
}

inline RouteModel route(std::string host, std::string path, std::string backend_name = "web") {
  RouteModel model;
  model.host = std::move(host);
  model.path.text = std::move(path);
  model.backend = std::move(backend_name);
  return model;
}

// Header fields in a list, names in lower case.
class ListedHeaders final : public HeaderSource {
 public:
  ListedHeaders(std::vector<std::pair<std::string, std::string>> fields) : fields_(std::move(fields)) {}
  std::optional<std::string_view> line(std::string_view name, std::size_t nth) const override {
    for (const auto& [other, value] : fields_) {
      if (other == name && nth-- == 0) return value;
    }
    return std::nullopt;
  }
  std::size_t lines(std::string_view name) const override {
    return static_cast<std::size_t>(std::ranges::count_if(fields_, [name](const auto& f) { return f.first == name; }));
  }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

inline std::shared_ptr<const Snapshot> compiled(Model model) {
  base::Labels labels;
  std::shared_ptr<const Snapshot> snapshot;
  for (const Refusal& refusal : Snapshot::compile(std::move(model), 1, labels, snapshot)) {
    ADD_FAILURE() << refusal.key << ": " << refusal.reason;
  }
  return snapshot;
}

inline Model small_model() {
  Model model;
  model.listeners.push_back(listener("http", "127.0.0.1:8080"));
  model.backends.push_back(backend("web"));
  model.routes.push_back(route("", ""));
  return model;
}

inline std::shared_ptr<const Snapshot> compiled(std::vector<RouteModel> routes) {
  Model model = small_model();
  model.routes = std::move(routes);
  return compiled(std::move(model));
}

}  // namespace ebb::routes
