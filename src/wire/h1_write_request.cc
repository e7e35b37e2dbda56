#include "wire/h1_write.h"

#include <new>
#include <ranges>

#include "wire/h1_field.h"
#include "wire/h1_pen.h"

namespace ebb::wire {

// Writes lines and their marks. The block is sized for the worst case of both; finish() asserts that it was enough.
class RequestPen {
 public:
  RequestPen(base::BlockPool& pool, std::size_t text_bound, std::size_t lines_max)
      : text_at_(sizeof(Summary) + lines_max * sizeof(Mark)),
        lines_max_(lines_max),
        pen_(pool, text_at_ + text_bound, text_at_),
        summary_(new(pen_.block_data()) Summary),
        mark_(reinterpret_cast<Mark*>(pen_.block_data() + sizeof(Summary))) {}

  void request_line(std::string_view method, std::string_view path) {
    pen_.text(method).text(" ").text(path).text(" HTTP/1.1\r\n");
    summary_->method_size = static_cast<std::uint32_t>(method.size());
    summary_->path_size = static_cast<std::uint32_t>(path.size());
    summary_->first_line = static_cast<std::uint32_t>(pen_.size());
  }
  // A line whose value is written in pieces, until end().
  Pen& begin(LineKind kind, std::string_view name, FieldId id = FieldId::other) {
    pen_.text(name).text(WrittenRequest::separator);
    mark_->name_size = static_cast<std::uint32_t>(name.size()) & size_max;
    mark_->id = id;
    mark_->kind = kind;
    value_at_ = pen_.size();
    return pen_;
  }
  void end() {
    mark_->value_size = static_cast<std::uint32_t>(pen_.size() - value_at_) & size_max;
    ++mark_;
    pen_.text(WrittenRequest::line_end);
  }
  void line(LineKind kind, std::string_view name, std::string_view value, FieldId id = FieldId::other) {
    begin(kind, name, id).text(value);
    end();
  }
  WrittenRequest finish() {
    pen_.text(WrittenRequest::line_end);
    const char* marks = pen_.block_data() + sizeof(Summary);
    summary_->lines = static_cast<std::uint32_t>(mark_ - reinterpret_cast<const Mark*>(marks));
    EBB_ASSERT(summary_->lines <= lines_max_);
    return WrittenRequest(pen_.finish());
  }

 private:
  using Summary = WrittenRequest::Summary;
  using Mark = WrittenRequest::Mark;
  static constexpr std::uint32_t size_max = (1u << 24) - 1;  // far above the maximum of limits.head_bytes

  std::size_t text_at_;
  std::size_t lines_max_;
  Pen pen_;
  Summary* summary_;
  Mark* mark_;
  std::size_t value_at_ = 0;
};

namespace {

// Framing, connection (2), TE, five of forwarding, Via, four of the certificate; Host.
constexpr std::size_t own_lines_max = 15;

// An open quote in Forwarded would swallow the element that we append (RFC 7239 4: values may be quoted strings).
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

// The client's values come first, joined into one line; the last element is ours.
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

// All or nothing: mixing the client's fields with ours would describe a path that no request took.
bool writes_forwarding(const Fields& fields, ForwardingMode mode) {
  if (mode != ForwardingMode::if_none) return mode != ForwardingMode::never;
  return std::ranges::none_of(
      fields.all(), [](const Field& field) { return !field.hop && (set_of(field.id) & forwarding_fields) != 0; });
}

class ForwardingLines {
 public:
  ForwardingLines(RequestPen& pen, const RequestHead& head, const Forwarding& forwarding)
      : pen_(pen),
        fields_(head.fields),
        forwarding_(forwarding),
        host_(forwarding.host.empty() ? head.authority : forwarding.host) {}

  void write() {
    if (writes(FieldId::x_forwarded_for)) {
      Pen& value = begin("X-Forwarded-For", FieldId::x_forwarded_for);
      write_earlier(value, FieldId::x_forwarded_for);
      value.text(forwarding_.client_host);
      pen_.end();
    }
    if (!host_.empty() && writes(FieldId::x_forwarded_host)) {
      line("X-Forwarded-Host", kept(FieldId::x_forwarded_host, host_), FieldId::x_forwarded_host);
    }
    if (writes(FieldId::x_forwarded_port)) write_port();
    if (writes(FieldId::x_forwarded_proto)) {
      line("X-Forwarded-Proto", kept(FieldId::x_forwarded_proto, forwarding_.scheme), FieldId::x_forwarded_proto);
    }
    if (writes(FieldId::forwarded)) write_forwarded();
  }

 private:
  bool writes(FieldId id) const { return (forwarding_.left_alone & set_of(id)) == 0; }
  Pen& begin(std::string_view name, FieldId id) { return pen_.begin(LineKind::field, name, id); }
  void line(std::string_view name, std::string_view value, FieldId id) { pen_.line(LineKind::field, name, value, id); }
  void write_earlier(Pen& value, FieldId id) {
    if (forwarding_.mode != ForwardingMode::replace) write_received(value, fields_, id);
  }
  // A trusted proxy's value, or `ours`. The proxy wrote the last line; earlier lines may be its client's.
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
    if (!said.empty()) return line("X-Forwarded-Port", said, FieldId::x_forwarded_port);
    begin("X-Forwarded-Port", FieldId::x_forwarded_port).number(forwarding_.port);
    pen_.end();
  }
  void write_forwarded() {
    Pen& value = begin("Forwarded", FieldId::forwarded);
    write_earlier(value, FieldId::forwarded);
    const bool ipv6 = forwarding_.client_host.contains(':');
    value.text(ipv6 ? "for=\"[" : "for=").text(forwarding_.client_host).text(ipv6 ? "]\"" : "");
    // Quoted, because a port's colon is not a token byte.
    if (!host_.empty()) value.text(";host=\"").text(host_).text("\"");
    value.text(";proto=").text(forwarding_.scheme);
    pen_.end();
  }

  RequestPen& pen_;
  const Fields& fields_;
  const Forwarding& forwarding_;
  const std::string_view host_;
};

void write_certificate(RequestPen& pen, const PeerCertificate& certificate) {
  pen.line(LineKind::field, "X-Client-Certificate-Verified", certificate.verified ? "true" : "false");
  pen.line(LineKind::field, "X-Client-Certificate-Sha256", certificate.sha256);
  pen.line(LineKind::field, "X-Client-Certificate-Subject", certificate.subject);
  pen.line(LineKind::field, "X-Client-Certificate-Serial", certificate.serial);
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
    case FieldId::x_real_ip: return trusted || !forwarding_is_ours;  // not ours, but the client cannot choose it
    case FieldId::forwarded:
    case FieldId::x_forwarded_for:
    case FieldId::x_forwarded_host:
    case FieldId::x_forwarded_port:
    case FieldId::x_forwarded_proto: return !forwarding_is_ours;
    case FieldId::other: return !names_client_certificate(field.name);
    default: return true;
  }
}

// RFC 9110 7.8 and 10.1.4: Upgrade and TE need a connection option of the same name.
void write_request_connection(RequestPen& pen, const RequestHead& head) {
  const bool upgrade = !head.upgrade.empty();
  if (upgrade) {
    pen.line(LineKind::http1_only, "Connection", head.te_trailers ? "upgrade, TE" : "upgrade");
    pen.line(LineKind::upgrade, "Upgrade", head.upgrade);
  }
  if (!upgrade && head.te_trailers) pen.line(LineKind::http1_only, "Connection", "TE");
  if (head.te_trailers) pen.line(LineKind::te, "TE", "trailers");
}

void write_framing(RequestPen& pen, const RequestHead& head) {
  if (head.framing == Framing::chunked) pen.line(LineKind::http1_only, "Transfer-Encoding", "chunked");
  if (head.framing != Framing::length) return;
  pen.begin(LineKind::length, "Content-Length").number(head.content_length);
  pen.end();
}

}  // namespace

WrittenRequest write_request(base::BlockPool& pool, const RequestHead& head, const Forwarding& forwarding) {
  constexpr std::size_t fixed_bound = 512;  // names and punctuation of our own lines
  const std::size_t bound = fixed_bound + head.method_text.size() + head.path.size() + 3 * head.authority.size() +
                            2 * forwarding.host.size() + head.upgrade.size() + bytes_of(head.fields) +
                            2 * forwarding.client_host.size() + 2 * forwarding.scheme.size() + forwarding.via.size() +
                            bytes_of(forwarding.certificate);
  const bool forwarding_is_ours = writes_forwarding(head.fields, forwarding.mode);
  RequestPen pen(pool, bound, head.fields.size() + own_lines_max);
  pen.request_line(head.method_text, head.path);
  // RFC 9112 3.2: Host comes first; empty if an HTTP/1.0 client sent none.
  pen.line(LineKind::host, "Host", head.authority);
  for (const Field& field : head.fields.all()) {
    if (request_field_passes(field, forwarding_is_ours, forwarding.trusted)) {
      pen.line(LineKind::field, field.name, field.value, field.id);
    }
  }
  write_framing(pen, head);
  write_request_connection(pen, head);
  if (forwarding_is_ours) ForwardingLines(pen, head, forwarding).write();
  if (!forwarding.via.empty()) {
    pen.begin(LineKind::field, "Via", FieldId::via).text(forwarding.via_version).text(" ").text(forwarding.via);
    pen.end();
  }
  if (forwarding.certificate != nullptr) write_certificate(pen, *forwarding.certificate);
  return pen.finish();
}

}  // namespace ebb::wire
