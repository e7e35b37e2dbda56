#include "control/backend_tls.h"

#include "base/literal_address.h"
#include "control/pem_files.h"

namespace ebb::control {

namespace {

std::vector<std::string> protocols_of(routes::BackendProtocol protocol) {
  switch (protocol) {
    case routes::BackendProtocol::http1: return {"http/1.1"};
    case routes::BackendProtocol::h2c: return {};
    case routes::BackendProtocol::h2: return {"h2"};
    case routes::BackendProtocol::automatic: return {"h2", "http/1.1"};
  }
  return {};
}

wire::BackendProof proof_of(const routes::BackendTlsModel& tls) {
  if (!tls.verify) return wire::BackendProof::nothing;
  return tls.name.empty() ? wire::BackendProof::chain : wire::BackendProof::name;
}

// RFC 6066 section 3: a literal address is not sent.
std::string server_name_of(const routes::BackendTlsModel& tls) {
  if (!tls.sni.empty()) return tls.sni;
  return base::literal_address(tls.name).empty() ? tls.name : "";
}

}  // namespace

std::expected<std::shared_ptr<const wire::ClientContext>, config::Diagnostics> build_backend_tls(
    const routes::BackendModel& backend) {
  if (!backend.tls) return nullptr;
  const routes::BackendTlsModel& tls = *backend.tls;
  const std::string owner = "backend \"" + backend.name + "\"";
  PemFiles files(owner);
  wire::ClientOptions options{.proof = proof_of(tls),
                              .authorities = {files.read(tls.ca, "authorities"), tls.ca},
                              .verified_name = tls.name,
                              .server_name = server_name_of(tls),
                              .alpn = protocols_of(backend.protocol)};
  if (!tls.certificate.empty()) {
    options.certificate = {.certificate_pem = files.read(tls.certificate, "certificate"),
                           .key_pem = files.read(tls.key, "key"),
                           .origin = tls.certificate,
                           .key_origin = tls.key};
  }
  if (!files.problems().empty()) return std::unexpected(files.problems());
  auto context = wire::ClientContext::build(options);
  if (context) return std::move(*context);
  return std::unexpected(config::Diagnostics{{owner, 0, 0, "", context.error(), ""}});
}

}  // namespace ebb::control
