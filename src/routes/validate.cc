// Checks that need no file and no socket. Keys in refusals are paths into the model, spelled as in the configuration
// file, so that a provider can find the value in its source.
#include "routes/validate.h"

#include "routes/refusals.h"
#include "routes/spelling.h"
#include "routes/validate_parts.h"

namespace ebb::routes {

namespace {

constexpr std::uint32_t fields_max = 256;
constexpr std::uint32_t head_bytes_min = 1024;
constexpr std::uint32_t head_bytes_max = 1 << 20;
constexpr std::uint64_t buffers_min = 8 << 20;

void check_admin(const Model& model, Refusals& refusals) {
  const AdminModel& admin = model.admin;
  if (admin.certificate.empty() != admin.key.empty()) {
    refusals.refuse(admin.key.empty() ? "admin.tls.key" : "admin.tls.cert", "a certificate and its key belong together",
                    "give both `cert` and `key`, or none");
  }
  if (!admin.client_ca.empty() && admin.certificate.empty()) {
    refusals.refuse("admin.tls.client_ca", "client certificates need TLS",
                    "add `cert` and `key`, or remove `client_ca`");
  }
  if (admin.self_drain.valid() && admin.self_drain == admin.bind) {
    refusals.refuse("admin.self_drain", admin.bind.text() + " is the admin address", "give it a port of its own");
  }
  if (!admin.bind.valid() || admin.bind.is_loopback()) return;
  if (!admin.token_file.empty() || !admin.client_ca.empty()) return;
  refusals.refuse(
      "admin",
      admin.bind.text() + " can be reached from other machines, and anyone could use it without authentication",
      "add token_file, or tls with client_ca; or use a loopback address such as 127.0.0.1:9901");
}

void check_timeouts(const Timeouts& timeouts, Refusals& refusals) {
  refusals.check_timeout("timeouts.tls_handshake", timeouts.tls_handshake);
  refusals.check_timeout("timeouts.client_head", timeouts.client_head);
  refusals.check_timeout("timeouts.client_idle", timeouts.client_idle);
  refusals.check_timeout("timeouts.client_body", timeouts.client_body);
  refusals.check_timeout("timeouts.client_write", timeouts.client_write);
  refusals.check_timeout("timeouts.backend_body", timeouts.backend_body);
  refusals.check_timeout("timeouts.tunnel_idle", timeouts.tunnel_idle);
}

void check_limits(const Limits& limits, Refusals& refusals) {
  if (limits.head_bytes < head_bytes_min || limits.head_bytes > head_bytes_max) {
    refusals.refuse("limits.head_bytes", std::to_string(limits.head_bytes) + " bytes is out of range",
                    "give 1KiB to 1MiB");
  }
  if (limits.target_bytes == 0 || limits.target_bytes > limits.head_bytes) {
    refusals.refuse("limits.target_bytes", "the request target is part of the head: it cannot be empty or longer",
                    "give at least 1 and at most limits.head_bytes (" + std::to_string(limits.head_bytes) + ")");
  }
  refusals.check_range("limits.fields", limits.fields, 1, fields_max, "fields");
  if (limits.buffers < buffers_min) {
    refusals.refuse("limits.buffers", std::to_string(limits.buffers) + " bytes is too little", "give at least 8MiB");
  }
}

}  // namespace

std::vector<Refusal> validate(const Model& model) {
  Refusals refusals;
  BackendsByName backends;
  backends.reserve(model.backends.size());
  for (const BackendModel& backend : model.backends) backends.emplace(backend.name, &backend);

  check_admin(model, refusals);
  check_timeouts(model.timeouts, refusals);
  check_limits(model.limits, refusals);
  check_errors("errors", model.errors, refusals);
  if (!model.via.empty() && !is_token(model.via)) {
    refusals.refuse("via", quoted(model.via) + " is not a name for Via", "use letters, digits, dots and dashes");
  }
  check_listeners(model, backends, refusals);
  check_routes(model, backends, refusals);
  check_backends(model, refusals);
  check_cookies(model, backends, refusals);
  check_canary(model, backends, refusals);
  return refusals.take();
}

}  // namespace ebb::routes
