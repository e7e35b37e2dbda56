#include "wire/h1_write.h"

#include <ranges>

#include "wire/h1_field.h"
#include "wire/h1_pen.h"

namespace ebb::wire {
namespace {

// An open quote in Forwarded would swallow what we append (RFC 7239 4: values may be quoted strings).
bool quotes_are_closed(std::string_view value) {
  bool open = false;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (open && value[i] == '\\') {
      ++i;
    } else if (value[i] == '"') {
      open = !open;
    }
  }
  return !open;
}

// What the client's side said comes first, joined into one line; the last element is ours.
void write_received(Pen& pen, const Fields& fields, FieldId id) {
  for (const Field& field : fields.all()) {
    if (field.id != id || field.value.empty()) continue;
    if (id == FieldId::forwarded && !quotes_are_closed(field.value)) continue;
    pen.text(field.value).text(", ");
  }
}

constexpr FieldSet forwarding_fields = set_of(FieldId::forwarded) | set_of(FieldId::x_forwarded_for) |
                                       set_of(FieldId::x_forwarded_host) | set_of(FieldId::x_forwarded_port) |
                                       set_of(FieldId::x_forwarded_proto);

// All or nothing: a client's word about one of them beside ours about another would be a story that nobody told.
bool writes_forwarding(const Fields& fields, ForwardingMode mode) {
  if (mode != ForwardingMode::if_none) return mode != ForwardingMode::never;
  return std::ranges::none_of(
      fields.all(), [](const Field& field) { return !field.hop && (set_of(field.id) & forwarding_fields) != 0; });
}

class ForwardingLines {
 public:
  ForwardingLines(Pen& pen, const RequestHead& head, const Forwarding& forwarding)
      : pen_(pen),
        fields_(head.fields),
        forwarding_(forwarding),
        host_(forwarding.host.empty() ? head.authority : forwarding.host) {}

  void write() {
    if (begin(FieldId::x_forwarded_for, "X-Forwarded-For: ")) {
      write_earlier(FieldId::x_forwarded_for);
      pen_.text(forwarding_.client_host).text("\r\n");
    }
    if (!host_.empty() && begin(FieldId::x_forwarded_host, "X-Forwarded-Host: ")) {
      pen_.text(kept(FieldId::x_forwarded_host, host_)).text("\r\n");
    }
    if (begin(FieldId::x_forwarded_port, "X-Forwarded-Port: ")) write_port();
    if (begin(FieldId::x_forwarded_proto, "X-Forwarded-Proto: ")) {
      pen_.text(kept(FieldId::x_forwarded_proto, forwarding_.scheme)).text("\r\n");
    }
    if (begin(FieldId::forwarded, "Forwarded: ")) write_forwarded();
  }

 private:
  bool begin(FieldId id, std::string_view name) {
    if ((forwarding_.left_alone & set_of(id)) != 0) return false;
    pen_.text(name);
    return true;
  }
  void write_earlier(FieldId id) {
    if (forwarding_.mode != ForwardingMode::replace) write_received(pen_, fields_, id);
  }
  // What a trusted proxy said, or `ours`. The last line is the proxy's own: those before it may be its client's.
  std::string_view kept(FieldId id, std::string_view ours) const {
    const bool believed = forwarding_.trusted && forwarding_.mode != ForwardingMode::replace;
    if (!believed) return ours;
    for (const Field& field : fields_.all() | std::views::reverse) {
      if (field.id == id && !field.value.empty()) return field.value;
    }
    return ours;
  }
  void write_port() {
    const std::string_view said = kept(FieldId::x_forwarded_port, {});
    if (said.empty()) {
      pen_.number(forwarding_.port);
    } else {
      pen_.text(said);
    }
    pen_.text("\r\n");
  }
  void write_forwarded() {
    write_earlier(FieldId::forwarded);
    const bool ipv6 = forwarding_.client_host.contains(':');
    pen_.text(ipv6 ? "for=\"[" : "for=").text(forwarding_.client_host).text(ipv6 ? "]\"" : "");
    // Quoted, because a port's colon is not a token byte.
    if (!host_.empty()) pen_.text(";host=\"").text(host_).text("\"");
    pen_.text(";proto=").text(forwarding_.scheme).text("\r\n");
  }

  Pen& pen_;
  const Fields& fields_;
  const Forwarding& forwarding_;
  const std::string_view host_;
};

void write_certificate(Pen& pen, const PeerCertificate& certificate) {
  pen.line("X-Client-Certificate-Verified", certificate.verified ? "true" : "false");
  pen.line("X-Client-Certificate-Sha256", certificate.sha256);
  pen.line("X-Client-Certificate-Subject", certificate.subject);
  pen.line("X-Client-Certificate-Serial", certificate.serial);
}

std::size_t bytes_of(const PeerCertificate* certificate) {
  if (certificate == nullptr) return 0;
  constexpr std::size_t names_bound = 160;
  return names_bound + certificate->sha256.size() + certificate->subject.size() + certificate->serial.size();
}

bool request_field_passes(const Field& field, bool forwarding_is_ours, bool trusted) {
  if (field.hop) return false;
  switch (field.id) {
    case FieldId::host:
    case FieldId::content_length:
    case FieldId::twin: return false;
    case FieldId::x_real_ip: return trusted || !forwarding_is_ours;  // not ours, but a client does not choose it
    case FieldId::forwarded:
    case FieldId::x_forwarded_for:
    case FieldId::x_forwarded_host:
    case FieldId::x_forwarded_port:
    case FieldId::x_forwarded_proto: return !forwarding_is_ours;
    case FieldId::other: return !names_client_certificate(field.name);
    default: return true;
  }
}

// RFC 9110 7.8 and 10.1.4: Upgrade and TE go with a connection option of their name.
void write_request_connection(Pen& pen, const RequestHead& head) {
  const bool upgrade = !head.upgrade.empty();
  if (upgrade) pen.line("Connection", head.te_trailers ? "upgrade, TE" : "upgrade").line("Upgrade", head.upgrade);
  if (!upgrade && head.te_trailers) pen.line("Connection", "TE");
  if (head.te_trailers) pen.line("TE", "trailers");
}

}  // namespace

base::Slice write_request(base::BlockPool& pool, const RequestHead& head, const Forwarding& forwarding) {
  constexpr std::size_t fixed_bound = 512;  // names and punctuation of the lines that are ours
  const std::size_t bound = fixed_bound + head.method_text.size() + head.path.size() + 3 * head.authority.size() +
                            2 * forwarding.host.size() + head.upgrade.size() + bytes_of(head.fields) +
                            2 * forwarding.client_host.size() + 2 * forwarding.scheme.size() + forwarding.via.size() +
                            bytes_of(forwarding.certificate);
  const bool forwarding_is_ours = writes_forwarding(head.fields, forwarding.mode);
  Pen pen(pool, bound);
  pen.text(head.method_text).text(" ").text(head.path).text(" HTTP/1.1\r\n");
  // RFC 9112 3.2: Host comes first; it is empty for an HTTP/1.0 client that named no host.
  pen.line("Host", head.authority);
  for (const Field& field : head.fields.all()) {
    if (request_field_passes(field, forwarding_is_ours, forwarding.trusted)) pen.line(field.name, field.value);
  }
  if (head.framing == Framing::chunked) pen.line("Transfer-Encoding", "chunked");
  if (head.framing == Framing::length) write_length(pen, head.content_length);
  write_request_connection(pen, head);
  if (forwarding_is_ours) ForwardingLines(pen, head, forwarding).write();
  if (!forwarding.via.empty())
    pen.text("Via: ").text(forwarding.via_version).text(" ").text(forwarding.via).text("\r\n");
  if (forwarding.certificate != nullptr) write_certificate(pen, *forwarding.certificate);
  pen.text("\r\n");
  return pen.finish();
}

}  // namespace ebb::wire
