#include "control/listener_tls.h"

#include "control/pem_files.h"

namespace ebb::control {

namespace {

wire::ClientCertificates mode_of(routes::ClientCertificates mode) {
  switch (mode) {
    case routes::ClientCertificates::none: return wire::ClientCertificates::none;
    case routes::ClientCertificates::optional: return wire::ClientCertificates::optional;
    case routes::ClientCertificates::required: return wire::ClientCertificates::required;
  }
  return wire::ClientCertificates::none;
}

}  // namespace

std::expected<std::shared_ptr<const wire::ServerContext>, config::Diagnostics> build_tls(
    const routes::ListenerModel& listener, std::shared_ptr<wire::TicketKeys> tickets) {
  const std::string owner = "listener \"" + listener.name + "\"";
  PemFiles files(owner);
  wire::ServerOptions options{.refuse_unknown_names = listener.refuse_unknown_names};
  if (listener.http2) options.alpn.insert(options.alpn.begin(), "h2");
  for (const routes::CertificateFiles& certificate : listener.certificates) {
    options.certificates.push_back({.certificate_pem = files.read(certificate.certificate, "certificate"),
                                    .key_pem = files.read(certificate.key, "key"),
                                    .origin = certificate.certificate,
                                    .key_origin = certificate.key});
    if (certificate.ocsp.empty()) continue;
    options.certificates.back().ocsp_der = files.read(certificate.ocsp, "OCSP response");
  }
  const routes::ClientCertificatesModel& clients = listener.client_certificates;
  options.client_certificates = mode_of(clients.mode);
  options.client_authorities = {files.read(clients.ca, "authorities of clients"), clients.ca};
  options.client_revocations = {files.read(clients.crl, "revocation list"), clients.crl};
  if (!files.problems().empty()) return std::unexpected(files.problems());

  auto context = wire::ServerContext::build(options, std::move(tickets));
  if (context) return std::move(*context);
  // The sentence names file and remedy.
  return std::unexpected(config::Diagnostics{{owner, 0, 0, "", context.error(), ""}});
}

}  // namespace ebb::control
