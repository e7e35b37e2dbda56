// The checks are those that need no file and no socket. Keys in refusals are paths into the model, spelled as in the
// configuration file, so that a provider can say where in its source the value stands.
#include "routes/validate.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "routes/normalise.h"

namespace ebb::routes {

namespace {

constexpr std::size_t name_length_max = 253;
constexpr std::size_t path_length_max = 4096;
constexpr std::uint32_t weight_max = 256;
constexpr std::uint32_t retries_max = 10;
constexpr std::uint32_t fields_max = 256;
constexpr std::uint32_t head_bytes_min = 1024;
constexpr std::uint32_t head_bytes_max = 1 << 20;
constexpr Duration timeout_max = std::chrono::hours{24 * 365};

bool is_any_host(std::string_view host) { return host.empty() || host == "*"; }

std::string indexed(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

// Names end up in log lines and metric labels: visible, nothing that needs escaping there.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= name_length_max &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\\'; });
}

bool is_label(std::string_view label) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::ranges::all_of(label, allowed);
}

// An exact host or what stands behind "*.".
bool is_host(std::string_view text) {
  HostBuffer buffer;
  const std::string_view host = normalise_host(text, buffer);
  if (host.empty() || host.size() > name_length_max) return false;
  if (text.starts_with('[')) return text.ends_with(']');
  if (text.find(':') != std::string_view::npos) return false;
  for (std::size_t begin = 0; begin <= host.size();) {
    const std::size_t end = std::min(host.find('.', begin), host.size());
    if (!is_label(host.substr(begin, end - begin))) return false;
    begin = end + 1;
  }
  return true;
}

// The characters that RFC 3986 section 3.3 has no place for in a path can match no request.
bool is_path(std::string_view path) {
  if (path.empty()) return true;
  return path.front() == '/' && path.size() <= path_length_max && path.find("//") == std::string_view::npos &&
         std::ranges::all_of(path, [](char c) {
           return c > ' ' && c <= '~' && std::string_view("?#\"\\<>^`{|}").find(c) == std::string_view::npos;
         });
}

class Validation {
 public:
  explicit Validation(const Model& model) : model_(model) {}

  std::vector<Refusal> run() {
    check_admin();
    check_timeouts();
    check_limits();
    check_listeners();
    check_routes();
    check_backends();
    return std::move(refusals_);
  }

 private:
  // Names seen so far, each with the index of its first bearer.
  using Seen = std::unordered_map<std::string, std::size_t>;

  void refuse(std::string key, std::string reason, std::string remedy) {
    refusals_.push_back({std::move(key), std::move(reason), std::move(remedy)});
  }

  void check_timeout(const std::string& key, Duration value) {
    if (value <= Duration::zero()) {
      refuse(key, "a time-out must be above zero", "give a duration such as 5s; there is no value for \"never\"");
    } else if (value > timeout_max) {
      refuse(key, "a time-out may be at most a year", "give a shorter duration");
    }
  }

  void check_name(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                  Seen& seen) {
    if (!is_name(name)) {
      refuse(key, name.empty() ? std::string(kind) + " needs a name" : "\"" + name + "\" is not a usable name",
             "give 1 to 253 visible ASCII characters without spaces, quotes and backslashes");
      return;
    }
    check_unique(key, kind, name, index, seen);
  }

  void check_unique(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                    Seen& seen) {
    const auto [first, fresh] = seen.emplace(name, index);
    if (!fresh) {
      refuse(key, "\"" + name + "\" is already the name of number " + std::to_string(first->second) + " of this list",
             "give each " + std::string(kind.substr(kind.find(' ') + 1)) + " a name of its own");
    }
  }

  void check_admin() {
    if (model_.admin.valid() && !model_.admin.is_loopback()) {
      refuse("admin",
             model_.admin.text() + " can be reached from other machines, and the admin port asks for no password",
             "use a loopback address such as 127.0.0.1:9901");
    }
  }

  void check_timeouts() {
    const Timeouts& timeouts = model_.timeouts;
    check_timeout("timeouts.tls_handshake", timeouts.tls_handshake);
    check_timeout("timeouts.client_head", timeouts.client_head);
    check_timeout("timeouts.client_idle", timeouts.client_idle);
    check_timeout("timeouts.client_body", timeouts.client_body);
    check_timeout("timeouts.client_write", timeouts.client_write);
    check_timeout("timeouts.backend_body", timeouts.backend_body);
    check_timeout("timeouts.tunnel_idle", timeouts.tunnel_idle);
  }

  void check_limits() {
    const Limits& limits = model_.limits;
    if (limits.head_bytes < head_bytes_min || limits.head_bytes > head_bytes_max) {
      refuse("limits.head_bytes", std::to_string(limits.head_bytes) + " bytes is out of range", "give 1KiB to 1MiB");
    }
    if (limits.target_bytes == 0 || limits.target_bytes > limits.head_bytes) {
      refuse("limits.target_bytes", "the request target is a part of the head, so it can be neither empty nor longer",
             "give at least 1 and at most limits.head_bytes (" + std::to_string(limits.head_bytes) + ")");
    }
    if (limits.fields == 0 || limits.fields > fields_max) {
      refuse("limits.fields", std::to_string(limits.fields) + " fields is out of range", "give 1 to 256");
    }
  }

  void check_listeners() {
    Seen names;
    for (std::size_t i = 0; i < model_.listeners.size(); ++i) {
      const ListenerModel& listener = model_.listeners[i];
      const std::string key = indexed("listeners", i);
      check_name(key + ".name", "a listener", listener.name, i, names);
      check_bind(key + ".bind", i);
      check_certificates(key, listener);
    }
  }

  void check_bind(const std::string& key, std::size_t index) {
    const base::Address& bind = model_.listeners[index].bind;
    if (!bind.valid()) {
      refuse(key, "a listener needs an address", "give one such as 0.0.0.0:8080");
      return;
    }
    if (bind.port() == 0) return;  // the kernel picks a free port for each
    const auto remedy = "give each listener a port or an address of its own";
    if (model_.admin == bind) refuse(key, bind.text() + " is the admin address", remedy);
    for (std::size_t i = 0; i < index; ++i) {
      if (model_.listeners[i].bind != bind) continue;
      refuse(key, bind.text() + " is already the address of listener \"" + model_.listeners[i].name + "\"", remedy);
      return;
    }
  }

  void check_certificates(const std::string& key, const ListenerModel& listener) {
    if (listener.protocol == Protocol::https && listener.certificates.empty()) {
      refuse(key + ".certificates", "an https listener needs a certificate",
             "add certificates: [{cert: FILE, key: FILE}], or use protocol: http");
    }
    if (listener.protocol == Protocol::http && !listener.certificates.empty()) {
      refuse(key + ".certificates", "an http listener has no use for certificates",
             "use protocol: https, or remove the certificates");
    }
    if (listener.protocol == Protocol::http && listener.refuse_unknown_names) {
      refuse(key + ".unknown_names", "an http listener sees no server names", "use protocol: https, or remove the key");
    }
  }

  void check_routes() {
    std::unordered_map<std::string_view, std::size_t> backends;
    for (std::size_t i = 0; i < model_.backends.size(); ++i) backends.emplace(model_.backends[i].name, i);
    Seen names;
    Seen rules;
    for (std::size_t i = 0; i < model_.routes.size(); ++i) {
      const RouteModel& route = model_.routes[i];
      const std::string key = indexed("routes", i);
      if (!check_rule(key, route, i, rules)) continue;
      if (route.name.empty()) {
        check_unique(key, "a route", route_name(route), i, names);
      } else {
        check_name(key + ".name", "a route", route.name, i, names);
      }
      if (!backends.contains(route.backend)) {
        refuse(key + ".backend",
               route.backend.empty() ? "a route needs a backend" : "there is no backend \"" + route.backend + "\"",
               "name one of the backends, or add it");
      }
      if (route.timeout != Duration::zero()) check_timeout(key + ".timeout", route.timeout);
    }
  }

  // What the route matches: well formed, and not yet taken. A route without a rule gets no further remarks.
  bool check_rule(const std::string& key, const RouteModel& route, std::size_t index, Seen& rules) {
    const bool wildcard = route.host.starts_with("*.");
    const std::string_view host = wildcard ? std::string_view(route.host).substr(2) : std::string_view(route.host);
    const bool host_ok = is_any_host(host) ? !wildcard : is_host(host) && !(wildcard && host.starts_with('['));
    if (!host_ok) {
      refuse(key + ".host", "\"" + route.host + "\" is not a host",
             "give a name such as shop.example.com, \"*.example.com\" for all names below it, or \"*\" for every "
             "host; without a port");
    }
    const bool path_ok = is_path(route.path);
    if (!path_ok) {
      refuse(key + ".path", "\"" + route.path + "\" is not a path prefix",
             "begin with a slash, leave out the query, empty segments and spaces, as in /api/v1");
    }
    if (!host_ok || !path_ok) return false;

    HostBuffer buffer;
    std::string rule = wildcard ? "*." : "";
    rule += is_any_host(host) ? "*" : normalise_host(host, buffer);
    rule += normalise_prefix(route.path);
    const auto [first, fresh] = rules.emplace(std::move(rule), index);
    if (fresh) return true;
    refuse(key + ".path", "routes[" + std::to_string(first->second) + "] already has this host and path",
           "remove one of the two, or change its host or path");
    return false;
  }

  void check_backends() {
    Seen names;
    for (std::size_t i = 0; i < model_.backends.size(); ++i) {
      const BackendModel& backend = model_.backends[i];
      const std::string key = indexed("backends", i);
      check_name(key + ".name", "a backend", backend.name, i, names);
      check_timeout(key + ".timeouts.connect", backend.connect_timeout);
      check_timeout(key + ".timeouts.response", backend.response_timeout);
      check_timeout(key + ".timeouts.idle", backend.idle_timeout);
      if (backend.retries > retries_max) {
        refuse(key + ".retries", std::to_string(backend.retries) + " is out of range",
               "give 0 to 10; each retry multiplies the load on a backend that is in trouble");
      }
      check_endpoints(key, backend);
    }
  }

  void check_endpoints(const std::string& backend_key, const BackendModel& backend) {
    Seen names;
    for (std::size_t i = 0; i < backend.endpoints.size(); ++i) {
      const EndpointModel& endpoint = backend.endpoints[i];
      const std::string key = backend_key + indexed(".endpoints", i);
      check_name(key + ".name", "an endpoint", endpoint.name, i, names);
      if (!endpoint.address.valid() || endpoint.address.port() == 0) {
        refuse(key + ".address", "an endpoint needs an address and a port", "give one such as 10.1.0.5:8080");
      }
      if (endpoint.weight > weight_max) {
        refuse(key + ".weight", std::to_string(endpoint.weight) + " is out of range", "give 0 (no new work) to 256");
      }
    }
  }

  const Model& model_;
  std::vector<Refusal> refusals_;
};

}  // namespace

std::vector<Refusal> validate(const Model& model) { return Validation(model).run(); }

std::string route_name(const RouteModel& route) {
  if (!route.name.empty()) return route.name;
  return (route.host.empty() ? "*" : route.host) + (route.path.empty() ? "/" : route.path);
}

}  // namespace ebb::routes
