#include "admin/access.h"

#include "admin/host_guard.h"

namespace ebb::admin {
namespace {

// Takes the same time wherever the texts first differ.
bool equal_secrets(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[b.empty() ? 0 : i % b.size()]);
  }
  return difference == 0;
}

bool has_token(const Access& access, const wire::RequestHead& head) {
  constexpr std::string_view scheme = "bearer ";
  const wire::Field* const field = head.fields.find("authorization");
  if (field == nullptr || field->value.size() <= scheme.size()) return false;
  if (!wire::equals_ignoring_case(field->value.substr(0, scheme.size()), scheme)) return false;
  return equal_secrets(access.token, field->value.substr(scheme.size()));
}

// Stricter than RFC 9110 9.2.1 (wire::safe): the admin server does not support OPTIONS or TRACE.
bool reads(wire::Method method) { return method == wire::Method::get || method == wire::Method::head; }

// A browser names the site that requests a change (Fetch standard 3.2); curl does not.
bool from_another_site(const wire::RequestHead& head) {
  const wire::Field* const origin = head.fields.find("origin");
  if (origin == nullptr || reads(head.method)) return false;
  const std::size_t scheme = origin->value.find("://");
  return scheme == std::string_view::npos || origin->value.substr(scheme + 3) != head.authority;
}

}  // namespace

std::string why_too_open(const Access& access) {
  if (access.address.is_loopback() || access.own_endpoints_only) return "";
  if (!access.token.empty() || access.certificates) return "";
  return access.address.text() +
         " is not a loopback address, and everybody who reaches it could drain endpoints and cut connections; "
         "give token_file, or tls with client_ca, or use 127.0.0.1 or [::1]";
}

Denial deny(const Access& access, const wire::RequestHead& head) {
  if (access.own_endpoints_only) return {};
  const bool guarded = !access.token.empty() || access.certificates;
  if (!guarded && !means_this_machine(head.authority, access.address)) {
    return {421, "the Host field must name this machine: localhost or a loopback address"};
  }
  if (from_another_site(head)) return {403, "pages of other sites may not change anything here"};
  const std::string_view path = head.path.substr(0, head.path.find('?'));
  const bool open = path == "/healthz" || path == "/readyz" || path == "/" || path.starts_with("/web/");
  if (access.token.empty() || (open && reads(head.method)) || has_token(access, head)) return {};
  return {401, "the field Authorization: Bearer TOKEN is missing, or the token is wrong"};
}

}  // namespace ebb::admin
