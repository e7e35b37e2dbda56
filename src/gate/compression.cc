#include "gate/compression.h"

#include <algorithm>

#include "gate/clients.h"
#include "wire/h1_field.h"

namespace ebb::gate {

namespace {

wire::ContentCoding coding_of(routes::Coding coding) {
  switch (coding) {
    case routes::Coding::gzip: return wire::ContentCoding::gzip;
    case routes::Coding::brotli: return wire::ContentCoding::brotli;
    case routes::Coding::zstd: return wire::ContentCoding::zstd;
  }
  return wire::ContentCoding::gzip;
}

void leave_out(wire::Fields& fields, std::string_view name) {
  for (wire::Field& field : fields.all()) {
    if (wire::equals_ignoring_case(field.name, name)) field.hop = true;
  }
}

// "text/html; charset=utf-8" is text/html.
std::string_view media_type(std::string_view value) { return wire::without_blanks(value.substr(0, value.find(';'))); }

// "text/*" is every kind of text (RFC 9110 section 12.5.1).
bool fits(std::string_view type, std::string_view range) {
  if (range == "*/*") return true;
  if (!range.ends_with("/*")) return wire::equals_ignoring_case(type, range);
  range.remove_suffix(1);
  return type.size() > range.size() && wire::equals_ignoring_case(type.substr(0, range.size()), range);
}

}  // namespace

std::optional<wire::ContentCoding> agreed_coding(const routes::CompressionModel& model, const wire::Fields& request) {
  const wire::Field* accepted = request.find("accept-encoding");
  if (accepted == nullptr) return {};
  for (const routes::Coding coding : model.codings) {
    if (wire::accepts(accepted->value, coding_of(coding))) return coding_of(coding);
  }
  return {};
}

bool worth_compressing(const routes::CompressionModel& model, const wire::ResponseHead& head) {
  const bool partial = head.status == 206 || head.fields.find("content-range") != nullptr;
  if (head.status < 200 || head.status >= 300 || partial || head.framing == wire::Framing::none) return false;
  if (head.framing == wire::Framing::length && head.content_length < model.min_bytes) return false;
  if (head.fields.find("content-encoding") != nullptr) return false;
  const wire::Field* cache = head.fields.find("cache-control");
  if (cache != nullptr && wire::list_has_token(cache->value, "no-transform")) return false;
  const wire::Field* type = head.fields.find("content-type");
  if (type == nullptr) return false;
  return std::ranges::any_of(model.types,
                             [type](const std::string& listed) { return fits(media_type(type->value), listed); });
}

bool write_compressed_head(wire::ContentCoding coding, wire::ResponseHead& head, std::string& text) {
  leave_out(head.fields, "accept-ranges");
  leave_out(head.fields, "content-md5");
  leave_out(head.fields, "digest");
  head.framing = wire::Framing::chunked;
  head.has_length = false;
  head.content_length = 0;
  // The bytes differ from those that a strong validator names.
  const wire::Field* tag = head.fields.find("etag");
  if (tag != nullptr && !tag->value.starts_with("W/")) {
    text = "W/" + std::string(tag->value);
    leave_out(head.fields, "etag");
    if (!head.fields.add({"ETag", text})) return false;
  }
  return head.fields.add({"Content-Encoding", wire::name(coding)}) && head.fields.add({"Vary", "Accept-Encoding"});
}

bool may_compress(Core& core, const Exchange& exchange) {
  const ClientConnection* client = exchange.front->connection(exchange.client);
  if (client == nullptr) return false;
  const std::size_t budget = core.current->model().limits.encoders;
  const std::size_t left = budget - std::min(budget, core.encoder_bytes);
  const std::size_t needed = wire::Encoder::memory(exchange.applied->coding);
  const bool fits = needed <= left && client->encoder_bytes + needed <= std::max(left / 2, needed);
  if (!fits) core.counters.compressions_left_out += 1;
  return fits;
}

void begin_compression(Core& core, Exchange& exchange) {
  const wire::ContentCoding coding = exchange.applied->coding;
  exchange.applied->encoder = wire::Encoder::make(coding);
  core.encoder_bytes += wire::Encoder::memory(coding);
  ClientConnection* client = exchange.front->connection(exchange.client);
  if (client != nullptr) client->encoder_bytes += wire::Encoder::memory(coding);
}

void end_compression(Core& core, Exchange& exchange) {
  const std::size_t memory = wire::Encoder::memory(exchange.applied->coding);
  exchange.applied->encoder.reset();
  core.encoder_bytes -= memory;
  ClientConnection* client = exchange.front->connection(exchange.client);
  if (client != nullptr) client->encoder_bytes -= memory;
}

}  // namespace ebb::gate
