#include "app/listener_tls.h"

#include "config/certificates.h"

namespace ebb::app {

std::expected<std::shared_ptr<const wire::ServerContext>, config::Diagnostics> build_tls(
    const routes::ListenerModel& listener, std::shared_ptr<wire::TicketKeys> tickets) {
  auto texts = config::read_certificates(listener);
  if (!texts) return std::unexpected(std::move(texts.error()));

  wire::ServerOptions options{.refuse_unknown_names = listener.refuse_unknown_names,
                              .alpn = {"h2", "http/1.1", "http/1.0"}};
  for (config::CertificateText& text : *texts) {
    options.certificates.push_back({std::move(text.certificate_pem), std::move(text.key_pem), std::move(text.origin)});
  }
  auto context = wire::ServerContext::build(options, std::move(tickets));
  if (context) return std::move(*context);
  // The sentence names its file and the remedy.
  return std::unexpected(config::Diagnostics{{"listener \"" + listener.name + "\"", 0, 0, "", context.error(), ""}});
}

}  // namespace ebb::app
