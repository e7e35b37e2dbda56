#include "config/schema.h"

#include "config/admin_keys.h"
#include "config/backend_keys.h"
#include "config/canary_keys.h"
#include "config/listener_keys.h"
#include "config/policy_keys.h"
#include "config/route_keys.h"

namespace ebb::config {

namespace {

using routes::AccessLogModel;
using routes::Limits;
using routes::Model;
using routes::Timeouts;

// In the order of the enumerators.
constexpr std::string_view io_words[] = {"auto", "uring", "epoll"};
constexpr std::string_view log_words[] = {"off", "json", "common"};

constexpr Key<AccessLogModel> access_log_keys[] = {
    {"format", choice<&AccessLogModel::format, log_words>, "format of a line; `off`: no log"},
    {"path", scalar<OutputFormat, &AccessLogModel::path>, "file for the lines; `-`: standard output"},
};

constexpr Key<Startup> audit_keys[] = {
    {"every", scalar<PeriodFormat, &Startup::audit_every>, "interval, `1s` or more; `0s`: never"},
};

constexpr Key<Timeouts> timeouts_keys[] = {
    {"tls_handshake", duration<&Timeouts::tls_handshake>, "from accept to the end of the TLS handshake"},
    {"client_head", duration<&Timeouts::client_head>, "from the first byte of a request to the end of its head"},
    {"client_idle", duration<&Timeouts::client_idle>,
     "keep-alive time-out: from one request to the next on a connection"},
    {"client_body", duration<&Timeouts::client_body>, "longest pause inside a request body"},
    {"client_write", duration<&Timeouts::client_write>, "time in which the client reads no byte of the response"},
    {"backend_body", duration<&Timeouts::backend_body>, "longest pause inside a response body"},
    {"tunnel_idle", duration<&Timeouts::tunnel_idle>,
     "time without a byte in either direction of an upgraded connection"},
};

constexpr Key<Limits> limits_keys[] = {
    {"head_bytes", size<&Limits::head_bytes>, "largest request head, `1KiB` to `1MiB`; a larger one gets 431"},
    {"target_bytes", size<&Limits::target_bytes>,
     "longest request target, at most `head_bytes`; a longer one gets 414"},
    {"fields", count<&Limits::fields>, "number of fields in a head, 1 to 256; more get 431"},
    {"body_bytes", size<&Limits::body_bytes>, "largest request body; a larger one gets 413; 0: no limit"},
    {"connections", count<&Limits::connections>,
     "number of client connections; 0: as many as the limit of descriptors allows"},
    {"idle_connections", count<&Limits::idle_connections>,
     "number of idle client connections; beyond it the router closes the one that has been idle longest; 0: no limit"},
    {"idle_per_client", count<&Limits::idle_per_client>, "the same per client address"},
    {"buffers", size<&Limits::buffers>,
     "memory of each worker for bytes in transit, `8MiB` or more; one client may hold an eighth of the free part"},
    {"encoders", size<&Limits::encoders>,
     "memory of each worker for compression; beyond it responses are sent without compression"},
};

template <const auto& value>
constexpr Value<Loaded> startup = within<&Loaded::startup, value>;
template <const auto& value>
constexpr Value<Loaded> model = within<&Loaded::model, value>;

constexpr Key<Loaded> top_keys[] = {
    {"admin", startup<admin_rule>,
     "address of the API, metrics and health: a loopback address, or a mapping with the keys below; a change needs a "
     "restart"},
    {"runtime", startup<file<&Startup::runtime>>,
     "path of a unix socket for HAProxy-compatible runtime commands, mode 0600; a change needs a restart"},
    {"workers", startup<scalar<WorkersFormat, &Startup::workers>>,
     "number of worker threads; `auto`: one per core; a change needs a restart"},
    {"io", startup<choice<&Startup::io, io_words>>,
     "`auto`: io_uring if the kernel allows it, else epoll; a change needs a restart"},
    {"audit", startup<group<Startup, audit_keys>>,
     "[self-audit](self-audit.md): compares the router's list of open descriptors with the kernel's; a change needs "
     "a restart"},
    {"access_log", model<section<&Model::access_log, access_log_keys>>,
     "[access log](access-log.md): one line per request"},
    {"timeouts", model<section<&Model::timeouts, timeouts_keys>>, "time-outs of client connections and of bodies"},
    {"limits", model<section<&Model::limits, limits_keys>>, "limits of client messages, connections and memory"},
    {"forwarded", model<choice<&Model::forwarded, forwarded_words>>,
     "how the router sets `Forwarded` and `X-Forwarded-*`: `append` to the request's values, `replace` them, set "
     "them `if_none` is there, or `never`"},
    {"trusted_proxies", model<networks<&Model::trusted_proxies>>,
     "proxies whose `X-Forwarded-For` the router trusts for the client's address"},
    {"cause_header", model<flag<&Model::cause_header>>,
     "the router's own answers carry the cause of the access log in the field `Ebbgate-Cause`"},
    {"via", model<text<&Model::via>>,
     "name of this router in the field `Via` of requests; a request that already carries the name is in a loop and "
     "gets 508; default: no `Via`"},
    {"errors", model<list<&Model::errors, error_keys>>, "bodies of the router's own error answers"},
    {"listeners", model<list<&Model::listeners, listener_keys>>, "addresses and ports for clients", Need::required},
    {"routes", model<list<&Model::routes, route_keys>>,
     "map requests to backends; a request without a matching route gets 404"},
    {"backends", model<list<&Model::backends, backend_keys>>, "groups of endpoints that serve the same content"},
    {"canary", model<optional_section<&Model::canary, canary_keys>>,
     "[canary](canary.md): the router sends probes through its own routes, as a client would"},
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
  using namespace routes;
  return {
      describe("", Keys<Loaded>(top_keys)),
      describe("admin", Keys<AdminModel>(admin_keys)),
      describe("admin.tls", Keys<AdminModel>(admin_tls_keys)),
      describe("audit", Keys<Startup>(audit_keys)),
      describe("access_log", Keys<AccessLogModel>(access_log_keys)),
      describe("timeouts", Keys<Timeouts>(timeouts_keys)),
      describe("limits", Keys<Limits>(limits_keys)),
      describe("errors[]", Keys<ErrorBodyModel>(error_keys)),
      describe("listeners[]", Keys<ListenerModel>(listener_keys)),
      describe("listeners[].certificates[]", Keys<CertificateFiles>(certificate_keys)),
      describe("listeners[].client_certificates", Keys<ClientCertificatesModel>(client_certificates_keys)),
      describe("listeners[].proxy_protocol", Keys<ListenerModel>(proxy_protocol_keys)),
      describe("routes[]", Keys<RouteModel>(route_keys)),
      describe("routes[].path", Keys<PathModel>(path_keys)),
      describe("routes[].headers.NAME, routes[].query.NAME", Keys<FieldCondition>(condition_keys)),
      describe("routes[].backends[]", Keys<ShareModel>(share_keys)),
      describe("routes[].timeouts", Keys<RouteTimeouts>(route_timeouts_keys)),
      describe("routes[].redirect", Keys<RedirectModel>(redirect_keys)),
      describe("routes[].rewrite", Keys<RewriteModel>(rewrite_keys)),
      describe("routes[].request_headers, routes[].response_headers", Keys<HeaderEditsModel>(header_edits_keys)),
      describe("routes[].mirrors[]", Keys<MirrorModel>(mirror_keys)),
      describe("routes[].cors", Keys<CorsModel>(cors_keys)),
      describe("routes[].hsts", Keys<HstsModel>(hsts_keys)),
      describe("routes[].rate_limit", Keys<RateLimitModel>(rate_limit_keys)),
      describe("routes[].compression", Keys<CompressionModel>(compression_keys)),
      describe("backends[]", Keys<BackendModel>(backend_keys)),
      describe("backends[].endpoints[]", Keys<EndpointModel>(endpoint_keys)),
      describe("backends[].timeouts", Keys<BackendModel>(backend_timeouts_keys)),
      describe("backends[].keepalive", Keys<BackendModel>(keepalive_keys)),
      describe("backends[].tls", Keys<BackendTlsModel>(backend_tls_keys)),
      describe("backends[].sticky", Keys<StickyModel>(sticky_keys)),
      describe("backends[].http2", Keys<BackendHttp2Model>(backend_http2_keys)),
      describe("backends[].queue", Keys<routes::QueueModel>(queue_keys)),
      describe("backends[].endpoint_limits", Keys<routes::EndpointLimitsModel>(endpoint_limits_keys)),
      describe("backends[].drain", Keys<BackendModel>(drain_keys)),
      describe("backends[].health", Keys<HealthModel>(health_keys)),
      describe("backends[].evidence", Keys<routes::EvidenceModel>(evidence_keys)),
      describe("backends[].evidence.silence", Keys<routes::SilenceModel>(silence_keys)),
      describe("backends[].evidence.failures", Keys<routes::FailuresModel>(failures_keys)),
      describe("backends[].evidence.retransmission", Keys<routes::RetransmissionModel>(retransmission_keys)),
      describe("canary", Keys<CanaryModel>(canary_keys)),
      describe("canary.replicas[]", Keys<CanaryReplicaModel>(canary_replica_keys)),
  };
}

}  // namespace ebb::config
