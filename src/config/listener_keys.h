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
    {"cert", file<&routes::CertificateFiles::certificate>, "PEM: the certificate, then its intermediates",
     Need::required},
    {"key", file<&routes::CertificateFiles::key>, "PEM: its private key, without a passphrase", Need::required},
    {"ocsp", file<&routes::CertificateFiles::ocsp>, "DER: the authority's OCSP response, for stapling"},
};

inline constexpr Key<routes::ClientCertificatesModel> client_certificates_keys[] = {
    {"mode", choice<&routes::ClientCertificatesModel::mode, client_certificate_words>,
     "`optional`: the router asks for a certificate; `required`: it refuses clients without one", Need::required},
    {"ca", file<&routes::ClientCertificatesModel::ca>, "PEM: authorities of client certificates"},
    {"crl", file<&routes::ClientCertificatesModel::crl>, "PEM: revocation lists"},
};

inline constexpr Key<routes::ListenerModel> proxy_protocol_keys[] = {
    {"from", networks<&routes::ListenerModel::proxy_protocol_from>,
     "peers that must begin each connection with a PROXY header, version 1 or 2; the router refuses "
     "it from others",
     Need::required},
};

inline constexpr Key<routes::ListenerModel> listener_keys[] = {
    {"name", text<&routes::ListenerModel::name>, "unique; for logs and metrics", Need::required},
    {"bind", scalar<BindFormat, &routes::ListenerModel::bind>,
     "address to listen on, in numbers; `*:8080` is every IPv4 address, `[::]:8080` every IPv6 "
     "address",
     Need::required},
    {"protocol", choice<&routes::ListenerModel::protocol, protocol_words>,
     "`https` needs certificates; `tls-passthrough` serves only the routes with `tls: passthrough`; `tcp` and `udp` "
     "need a backend"},
    {"backend", text<&routes::ListenerModel::backend>,
     "with `tcp` and `udp`: the backend of all connections or datagrams"},
    {"certificates", list<&routes::ListenerModel::certificates, certificate_keys>,
     "certificates, chosen by the server name that the client sends (SNI)"},
    {"unknown_names", choice<&routes::ListenerModel::refuse_unknown_names, unknown_name_words>,
     "clients without a known server name get the first certificate, or are refused"},
    {"client_certificates", section<&routes::ListenerModel::client_certificates, client_certificates_keys>,
     "with `https`: certificates of clients"},
    {"http2", flag<&routes::ListenerModel::http2>,
     "HTTP/2 besides HTTP/1.1: by ALPN with TLS, by prior knowledge without"},
    {"paths", scalar<Optional<ChoiceFormat<routes::PathMode, path_words>>, &routes::ListenerModel::paths>,
     "paths with several spellings: see [How paths are spelled](#how-paths-are-spelled)"},
    {"half_close", flag<&routes::ListenerModel::half_close>,
     "`true`: an HTTP/1 client that closes its sending side still gets its answer; `false`: the router cancels its "
     "request"},
    {"proxy_protocol", group<routes::ListenerModel, proxy_protocol_keys>,
     "clients come through a load balancer that sends their address; see [PROXY protocol](proxy-protocol.md)"},
    {"connections_per_client", count<&routes::ListenerModel::connections_per_client>,
     "open connections per client address, over all workers; 0: no limit"},
    {"idle_connections", count<&routes::ListenerModel::idle_connections>,
     "number of idle connections; beyond it the router closes the one that has been idle longest; 0: no limit"},
};

}  // namespace ebb::config
