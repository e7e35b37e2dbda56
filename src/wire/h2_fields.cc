#include "wire/h2_fields.h"

#include <charconv>

#include "wire/h1_field.h"

namespace ebb::wire {
namespace {

constexpr std::uint16_t switching_protocols = 101;
constexpr std::uint16_t ok = 200;

constexpr std::string_view known_names[] = {
    "",
#define X(id, text) text,
    EBB_FIELDS(X)
#undef X
        "",
};

// "" for an unknown field.
std::string_view lower_case_name(FieldId id) { return known_names[static_cast<std::size_t>(id)]; }

bool passes(const Field& field) {
  if (field.hop) return false;
  switch (field.id) {
    case FieldId::host:
    case FieldId::connection:
    case FieldId::content_length:
    case FieldId::transfer_encoding:
    case FieldId::te:
    case FieldId::upgrade:
    case FieldId::keep_alive:
    case FieldId::proxy_connection: return false;
    default: return true;
  }
}

// RFC 8441 5: with HTTP/1 these fields prove that the server understood the handshake; HTTP/2 does not need them.
bool is_websocket_proof(std::string_view name) {
  return equals_ignoring_case(name, "sec-websocket-key") || equals_ignoring_case(name, "sec-websocket-accept");
}

std::uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));  // nghttp2 only reads them
}

}  // namespace

H2Fields& H2Fields::of_this_thread() {
  thread_local H2Fields fields;
  return fields;
}

void H2Fields::add(std::string_view name, std::string_view value, std::uint8_t flags) {
  if (count_ == pairs_.size()) return;
  pairs_[count_++] = {bytes_of(name), bytes_of(value), name.size(), value.size(), flags};
}

void H2Fields::add_own(std::string_view name, std::string_view value) {
  add(name, value, NGHTTP2_NV_FLAG_NO_COPY_NAME);
}

void H2Fields::add_field(const Field& field) {
  const std::string_view known = lower_case_name(field.id);
  if (known.empty()) return add(field.name, field.value);
  add_own(known, field.value);
}

void H2Fields::add_length(std::uint64_t length) {
  const char* end = std::to_chars(length_, length_ + sizeof length_, length).ptr;
  add_own("content-length", {length_, end});
}

void H2Fields::set_response(const ResponseHead& head) {
  count_ = 0;
  const bool tunnel = head.status == switching_protocols;
  const char* end = std::to_chars(status_, status_ + sizeof status_, tunnel ? ok : head.status).ptr;
  add_own(":status", {status_, end});
  for (const Field& field : head.fields.all()) {
    if (passes(field) && !(tunnel && is_websocket_proof(field.name))) add_field(field);
  }
  if (head.has_length && !tunnel) add_length(head.content_length);
}

void H2Fields::set_request(const RequestHead& head, std::string_view scheme) {
  count_ = 0;
  const bool tunnel = !head.upgrade.empty();
  add_own(":method", tunnel ? std::string_view("CONNECT") : head.method_text);
  if (tunnel) add_own(":protocol", head.upgrade);
  add_own(":scheme", scheme);
  add_own(":authority", head.authority);
  add_own(":path", head.path);
  for (const Field& field : head.fields.all()) {
    if (passes(field) && !(tunnel && is_websocket_proof(field.name))) add_field(field);
  }
  if (head.framing == Framing::length && !tunnel) add_length(head.content_length);
  if (head.te_trailers) add_own("te", "trailers");
}

void H2Fields::set_request(const WrittenRequest& head, std::string_view scheme, bool tunnel) {
  count_ = 0;
  add_own(":method", tunnel ? std::string_view("CONNECT") : head.method());
  if (tunnel) add_own(":protocol", head.upgrade());
  add_own(":scheme", scheme);
  add_own(":authority", head.authority());
  add_own(":path", head.path());
  std::string_view length;
  bool te = false;
  head.each_line([&](LineKind kind, const Field& line) {
    if (kind == LineKind::length) length = line.value;
    if (kind == LineKind::te) te = true;
    if (kind == LineKind::field && !(tunnel && is_websocket_proof(line.name))) add_field(line);
  });
  if (!length.empty() && !tunnel) add_own("content-length", length);
  if (te) add_own("te", "trailers");
}

void H2Fields::set_trailers(std::string_view lines) {
  count_ = 0;
  const char* at = lines.data();
  const char* end = at + lines.size();
  while (at != end) {
    const FieldLine line = read_field_line(at, end);
    if (line.status != FieldLine::Status::field) return;
    add(line.field.name, line.field.value);
    at = line.next;
  }
}

}  // namespace ebb::wire
