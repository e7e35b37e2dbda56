// The keys of listeners.
#pragma once

#include "config/keys.h"
#include "config/policy_keys.h"
#include "routes/model.h"

namespace ebb::config {

// In the order of the enumerators.
inline constexpr std::string_view protocol_words[] = {"http", "https", "tls-passthrough", "tcp", "udp"};
inline constexpr std::string_view unknown_name_words[] = {"default", "refuse"};
inline constexpr std::string_view client_certificate_words[] = {"none", "optional", "required"};

inline constexpr Key<routes::CertificateFiles> certificate_keys[] = {
    {"cert", file<&routes::CertificateFiles::certificate>, "PEM: the certificate, then the intermediate ones",
     Need::required},
    {"key", file<&routes::CertificateFiles::key>, "PEM: its private key, without a pass phrase", Need::required},
    {"ocsp", file<&routes::CertificateFiles::ocsp>, "DER: the authority's OCSP response, which is stapled"},
};

inline constexpr Key<routes::ClientCertificatesModel> client_certificates_keys[] = {
    {"mode", choice<&routes::ClientCertificatesModel::mode, client_certificate_words>,
     "whether clients are asked for a certificate, and whether they must have one", Need::required},
    {"ca", file<&routes::ClientCertificatesModel::ca>, "PEM: the authorities whose certificates are accepted"},
    {"crl", file<&routes::ClientCertificatesModel::crl>, "PEM: the certificates that were revoked"},
};

inline constexpr Key<routes::ListenerModel> proxy_protocol_keys[] = {
    {"from", networks<&routes::ListenerModel::proxy_protocol_from>,
     "peers that begin each connection with a PROXY header, version 1 or 2; from others it is refused", Need::required},
};

inline constexpr Key<routes::ListenerModel> listener_keys[] = {
    {"name", text<&routes::ListenerModel::name>, "unique; for logs and metrics", Need::required},
    {"bind", scalar<BindFormat, &routes::ListenerModel::bind>,
     "where to listen, in numbers; `*:8080` is every IPv4 address, `[::]:8080` every IPv6 address", Need::required},
    {"protocol", choice<&routes::ListenerModel::protocol, protocol_words>,
     "`https` needs certificates; `tls-passthrough` serves only the routes with `tls: passthrough`; `tcp` and `udp` "
     "need a backend"},
    {"backend", text<&routes::ListenerModel::backend>, "of `tcp` and `udp`: where everything goes"},
    {"certificates", list<&routes::ListenerModel::certificates, certificate_keys>,
     "chosen by the name that the client asks for"},
    {"unknown_names", choice<&routes::ListenerModel::refuse_unknown_names, unknown_name_words>,
     "clients that ask for no known name get the first certificate, or are refused"},
    {"client_certificates", section<&routes::ListenerModel::client_certificates, client_certificates_keys>,
     "of `https`: who the clients must be"},
    {"http2", flag<&routes::ListenerModel::http2>,
     "HTTP/2 beside HTTP/1.1: by ALPN with TLS, by prior knowledge without"},
    {"paths", scalar<Optional<ChoiceFormat<routes::PathMode, path_words>>, &routes::ListenerModel::paths>,
     "paths of several spellings: `normalise` makes one of them, `refuse` serves only that one, `as_is` takes them as "
     "they "
     "came; if not given, they pass as they came unless that leads around a route that guards or out of a rewrite"},
    {"half_close", flag<&routes::ListenerModel::half_close>,
     "of HTTP/1 clients: one that closes its sending side still gets its answer; else a client that closes has left, "
     "and its "
     "request is cancelled"},
    {"proxy_protocol", group<routes::ListenerModel, proxy_protocol_keys>,
     "clients come through a load balancer that says who they are"},
    {"connections_per_client", count<&routes::ListenerModel::connections_per_client>,
     "most connections of one client address at a time, over all workers; 0 for no limit"},
    {"idle_connections", count<&routes::ListenerModel::idle_connections>,
     "most connections that wait for a request; the one that has waited longest is closed; 0 for no limit"},
};

}  // namespace ebb::config
