#include "admin/openings.h"

#include "config/token_file.h"
#include "control/pem_files.h"

namespace ebb::admin {

std::expected<Openings, std::string> openings_of(const config::Startup& startup) {
  const routes::AdminModel& model = startup.admin;
  Openings openings{.admin = {.address = model.bind},
                    .self_drain = {.address = model.self_drain, .own_endpoints_only = true},
                    .runtime = startup.runtime};
  if (!model.token_file.empty()) {
    auto token = config::read_token(model.token_file);
    if (!token) return std::unexpected(token.error());
    openings.admin.token = std::move(*token);
  }
  if (model.certificate.empty()) return openings;

  control::PemFiles files("the admin listener");
  wire::ServerOptions options{.certificates = {{.certificate_pem = files.read(model.certificate, "certificate"),
                                                .key_pem = files.read(model.key, "key"),
                                                .origin = model.certificate,
                                                .key_origin = model.key}},
                              .alpn = {"http/1.1"}};
  if (!model.client_ca.empty()) {
    options.client_certificates = wire::ClientCertificates::required;
    options.client_authorities = {files.read(model.client_ca, "client authorities"), model.client_ca};
    openings.admin.certificates = true;
  }
  if (!files.problems().empty()) return std::unexpected(config::text_of(files.problems()));
  auto context = wire::ServerContext::build(options, std::make_shared<wire::TicketKeys>());
  if (!context) return std::unexpected(context.error());
  openings.admin.tls = std::move(*context);
  return openings;
}

}  // namespace ebb::admin
