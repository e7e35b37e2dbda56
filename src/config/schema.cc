#include "config/schema.h"

#include "config/table.h"

namespace ebb::config {

namespace {

using routes::AccessLogModel;
using routes::BackendModel;
using routes::CertificateFiles;
using routes::EndpointModel;
using routes::Limits;
using routes::ListenerModel;
using routes::Model;
using routes::RouteModel;
using routes::Timeouts;

// In the order of the enumerators.
constexpr std::string_view io_words[] = {"auto", "uring", "epoll"};
constexpr std::string_view log_words[] = {"off", "json", "common"};
constexpr std::string_view protocol_words[] = {"http", "https"};
constexpr std::string_view unknown_name_words[] = {"default", "refuse"};
constexpr std::string_view state_words[] = {"ready", "leaving", "drain", "maint"};
constexpr std::string_view balance_words[] = {"round_robin", "least_request"};

template <auto member>
constexpr auto duration = scalar<DurationFormat, member>;
template <auto member>
constexpr auto size = scalar<SizeFormat<typename MemberParts<decltype(member)>::Target>, member>;
template <auto member>
constexpr auto count = scalar<CountFormat, member>;
template <auto member>
constexpr auto text = scalar<TextFormat, member>;
template <auto member, const auto& words>
constexpr auto choice = scalar<ChoiceFormat<typename MemberParts<decltype(member)>::Target, words>, member>;

constexpr Key<AccessLogModel> access_log_keys[] = {
    {"format", choice<&AccessLogModel::format, log_words>, "how a line is written"},
    {"path", scalar<OutputFormat, &AccessLogModel::path>, "where lines go; `-` is standard output"},
};

constexpr Key<Timeouts> timeouts_keys[] = {
    {"tls_handshake", duration<&Timeouts::tls_handshake>, "from accept to the end of the TLS handshake"},
    {"client_head", duration<&Timeouts::client_head>, "from the first byte of a request to the end of its head"},
    {"client_idle", duration<&Timeouts::client_idle>, "between two requests on one connection"},
    {"client_body", duration<&Timeouts::client_body>, "between two pieces of a request body"},
    {"client_write", duration<&Timeouts::client_write>, "without the client taking a byte of the response"},
    {"backend_body", duration<&Timeouts::backend_body>, "between two pieces of a response body"},
    {"tunnel_idle", duration<&Timeouts::tunnel_idle>, "without a byte either way in an upgraded connection"},
};

constexpr Key<Limits> limits_keys[] = {
    {"head_bytes", size<&Limits::head_bytes>, "largest request head, 1KiB to 1MiB; beyond it 431"},
    {"target_bytes", size<&Limits::target_bytes>, "longest request target, at most `head_bytes`; beyond it 414"},
    {"fields", count<&Limits::fields>, "most fields in a head, 1 to 256; beyond it 431"},
    {"body_bytes", size<&Limits::body_bytes>, "largest request body, 0 for no limit; beyond it 413"},
    {"connections", count<&Limits::connections>, "most client connections; 0 is what the descriptor limit allows"},
};

constexpr Key<CertificateFiles> certificate_keys[] = {
    {"cert", scalar<FileFormat, &CertificateFiles::certificate>, "PEM: the certificate, then the intermediate ones",
     Need::required},
    {"key", scalar<FileFormat, &CertificateFiles::key>, "PEM: its private key, without a pass phrase", Need::required},
};

constexpr Key<ListenerModel> listener_keys[] = {
    {"name", text<&ListenerModel::name>, "unique; for logs and metrics", Need::required},
    {"bind", scalar<BindFormat, &ListenerModel::bind>,
     "where to listen, in numbers; `*:8080` is every IPv4 address, `[::]:8080` every IPv6 address", Need::required},
    {"protocol", choice<&ListenerModel::protocol, protocol_words>, "`https` needs certificates"},
    {"certificates", list<&ListenerModel::certificates, certificate_keys>,
     "chosen by the name that the client asks for"},
    {"unknown_names", choice<&ListenerModel::refuse_unknown_names, unknown_name_words>,
     "clients that ask for no known name get the first certificate, or are refused"},
};

constexpr Key<RouteModel> route_keys[] = {
    {"name", text<&RouteModel::name>, "unique; for logs and metrics; `host/path` if not given"},
    {"host", text<&RouteModel::host>, "a name, `*.example.com` for every name below it, `*` or nothing for every host"},
    {"path", text<&RouteModel::path>, "a prefix of whole segments: `/api` is `/api` and `/api/x`, not `/apix`"},
    {"backend", text<&RouteModel::backend>, "the name of a backend", Need::required},
    {"timeout", duration<&RouteModel::timeout>, "until the response begins; the backend's `response` if not given"},
};

// An endpoint without a name is known by its address as it was written, so that its name does not change when the
// address behind a host name does.
constexpr Value<EndpointModel> endpoint_address = {
    EndpointAddressFormat::type,
    [](Reader& reader, const Node& node, EndpointModel& endpoint) {
      read_scalar<EndpointAddressFormat>(reader, node, endpoint.address);
      if (endpoint.name.empty()) endpoint.name = node.text;
    },
    [](const EndpointModel&) { return std::string(); },
};

constexpr Key<EndpointModel> endpoint_keys[] = {
    {"name", text<&EndpointModel::name>, "unique in its backend; the address if not given"},
    {"address", endpoint_address, "`host:port`; a name is resolved when the file is read", Need::required},
    {"weight", count<&EndpointModel::weight>, "share of the work, 0 to 256"},
    {"state", choice<&EndpointModel::state, state_words>,
     "`leaving` is used only when no `ready` one is left; `drain` and `maint` get no new work"},
};

constexpr Key<BackendModel> backend_timeouts_keys[] = {
    {"connect", duration<&BackendModel::connect_timeout>, "until a connection is established"},
    {"response", duration<&BackendModel::response_timeout>, "until the response begins"},
    {"idle", duration<&BackendModel::idle_timeout>, "how long a connection without work is kept"},
};

constexpr Key<BackendModel> keepalive_keys[] = {
    {"idle_per_endpoint", count<&BackendModel::idle_per_endpoint>,
     "most connections without work that a worker keeps to one endpoint"},
};

constexpr Key<BackendModel> backend_keys[] = {
    {"name", text<&BackendModel::name>, "unique; routes name it", Need::required},
    {"balance", choice<&BackendModel::balance, balance_words>, "how an endpoint is chosen"},
    {"endpoints", list<&BackendModel::endpoints, endpoint_keys>, "may be empty: requests then get 503"},
    {"timeouts", group<BackendModel, backend_timeouts_keys>, "of connections to its endpoints"},
    {"keepalive", group<BackendModel, keepalive_keys>, "of connections without work"},
    {"retries", count<&BackendModel::retries>, "how often a request that is safe to repeat is sent again, 0 to 10"},
};

template <const auto& value>
constexpr Value<Loaded> startup = within<&Loaded::startup, value>;
template <const auto& value>
constexpr Value<Loaded> model = within<&Loaded::model, value>;

constexpr Key<Loaded> top_keys[] = {
    {"admin", startup<scalar<BindFormat, &Startup::admin>>,
     "metrics and health, on a loopback address; a change needs a restart"},
    {"workers", startup<scalar<WorkersFormat, &Startup::workers>>,
     "threads; `auto` is one per core; a change needs a restart"},
    {"io", startup<choice<&Startup::io, io_words>>,
     "`auto` takes io_uring where it is allowed, else epoll; a change needs a restart"},
    {"access_log", model<section<&Model::access_log, access_log_keys>>, "one line for each request"},
    {"timeouts", model<section<&Model::timeouts, timeouts_keys>>, "of connections with clients, and of bodies"},
    {"limits", model<section<&Model::limits, limits_keys>>, "of what a client may send"},
    {"listeners", model<list<&Model::listeners, listener_keys>>, "where clients connect", Need::required},
    {"routes", model<list<&Model::routes, route_keys>>, "which requests go where; what none matches gets 404"},
    {"backends", model<list<&Model::backends, backend_keys>>, "groups of endpoints that serve the same"},
};

template <class Object>
KeySection describe(std::string path, Keys<Object> keys) {
  const Object defaults{};
  KeySection described{std::move(path), {}};
  for (const Key<Object>& key : keys) {
    described.rows.push_back({std::string(key.name), key.value.type(), key.value.show(defaults),
                              key.need == Need::required, std::string(key.meaning)});
  }
  return described;
}

}  // namespace

void read_schema(Reader& reader, const Node& root, Loaded& loaded) {
  read_mapping(reader, root, Keys<Loaded>(top_keys), loaded);
  loaded.model.admin = loaded.startup.admin;
}

std::string io_text(Io io) { return std::string(io_words[static_cast<std::size_t>(io)]); }

std::vector<KeySection> key_sections() {
  return {
      describe("", Keys<Loaded>(top_keys)),
      describe("access_log", Keys<AccessLogModel>(access_log_keys)),
      describe("timeouts", Keys<Timeouts>(timeouts_keys)),
      describe("limits", Keys<Limits>(limits_keys)),
      describe("listeners[]", Keys<ListenerModel>(listener_keys)),
      describe("listeners[].certificates[]", Keys<CertificateFiles>(certificate_keys)),
      describe("routes[]", Keys<RouteModel>(route_keys)),
      describe("backends[]", Keys<BackendModel>(backend_keys)),
      describe("backends[].endpoints[]", Keys<EndpointModel>(endpoint_keys)),
      describe("backends[].timeouts", Keys<BackendModel>(backend_timeouts_keys)),
      describe("backends[].keepalive", Keys<BackendModel>(keepalive_keys)),
  };
}

}  // namespace ebb::config
