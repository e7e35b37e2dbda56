// Short models for the tests of this room.
#pragma once

#include <string>

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
  return {.name = "", .host = std::move(host), .path = std::move(path), .backend = std::move(backend_name)};
}

inline Model small_model() {
  Model model;
  model.listeners.push_back(listener("http", "127.0.0.1:8080"));
  model.backends.push_back(backend("web"));
  model.routes.push_back(route("", ""));
  return model;
}

}  // namespace ebb::routes
