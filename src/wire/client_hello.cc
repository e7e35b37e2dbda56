#include "wire/client_hello.h"

#include <algorithm>
#include <utility>

#include "wire/host_name.h"

namespace ebb::wire {

namespace {

constexpr std::uint8_t alert_record = 21;
constexpr std::uint8_t handshake_record = 22;
constexpr std::size_t record_header = 5;
constexpr std::size_t record_payload_max = 16384;  // RFC 8446 section 5.1
constexpr std::uint8_t client_hello_message = 1;
constexpr std::size_t message_header = 4;
constexpr unsigned extension_server_name = 0;
constexpr unsigned extension_alpn = 16;
constexpr std::uint8_t host_name_type = 0;

std::uint8_t byte_at(std::string_view bytes, std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); }

// Takes numbers and length-prefixed fields off the front. After the first missing byte `failed` stays true and every
// field is empty, so callers check it only before decisions.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::size_t number(std::size_t bytes) {
    std::size_t value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  // A field behind its length, which has `length_bytes` bytes.
  std::string_view field(std::size_t length_bytes) { return take(number(length_bytes)); }

  bool empty() const { return rest_.empty(); }
  bool failed() const { return failed_; }
  bool whole() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

Parsed refuse(ClientHello& out, Alert alert, const char* why) {
  out = {.alert = alert};
  return {.status = Parsed::Status::refused, .cause = base::Cause::client_tls_failed, .why = why};
}

// RFC 6066 section 3. The list can hold only one entry: one of each type, and host_name is the only type. Two readers
// that choose differently from a longer list would route and serve different names.
const char* read_server_name(std::string_view extension, ClientHello& out) {
  Reader reader(extension);
  Reader list(reader.field(2));
  const bool is_host_name = list.number(1) == host_name_type;
  const std::string_view name = list.field(2);
  if (!reader.whole() || !list.whole() || !is_host_name) return "the server_name extension is malformed";
  out.server_name = normal_name(name);
  if (out.server_name.empty() || out.server_name.starts_with('*')) return "the server name is not a host name";
  return nullptr;
}

// RFC 7301 section 3.1.
const char* read_alpn(std::string_view extension, ClientHello& out) {
  Reader reader(extension);
  const std::string_view protocols = reader.field(2);
  bool malformed = !reader.whole() || protocols.empty();
  for (Reader list(protocols); !malformed && !list.empty();) malformed = list.field(1).empty();
  if (malformed) return "the ALPN extension is malformed";
  out.alpn_list = protocols;
  return nullptr;
}

// Reads only these two extensions and ignores others, such as GREASE (RFC 8701).
const char* read_extensions(std::string_view extensions, ClientHello& out) {
  bool saw_server_name = false;
  bool saw_alpn = false;
  for (Reader reader(extensions); !reader.empty();) {
    const std::size_t type = reader.number(2);
    const std::string_view extension = reader.field(2);
    if (reader.failed()) return "an extension is cut short";
    const char* why = nullptr;
    if (type == extension_server_name) {
      if (std::exchange(saw_server_name, true)) return "the server_name extension comes twice";
      why = read_server_name(extension, out);
    } else if (type == extension_alpn) {
      if (std::exchange(saw_alpn, true)) return "the ALPN extension comes twice";
      why = read_alpn(extension, out);
    }
    if (why != nullptr) return why;
  }
  return nullptr;
}

// RFC 8446 section 4.1.2; RFC 5246 section 7.4.1.2 has the same shape, where the extensions may be absent.
const char* read_message(std::string_view message, ClientHello& out) {
  Reader reader(message);
  reader.take(2 + 32);  // version, random
  const std::string_view session_id = reader.field(1);
  const std::string_view suites = reader.field(2);
  const std::string_view compressions = reader.field(1);
  if (reader.failed() || session_id.size() > 32 || suites.empty() || suites.size() % 2 != 0 || compressions.empty()) {
    return "the ClientHello is malformed";
  }
  if (reader.empty()) return nullptr;
  const std::string_view extensions = reader.field(2);
  if (!reader.whole()) return "the ClientHello does not end with its extensions";
  return read_extensions(extensions, out);
}

// The first wrong byte decides. Each byte is checked as soon as it arrives, so another protocol is refused without
// waiting for five bytes.
const char* check_record_header(std::string_view header) {
  if (!header.empty() && byte_at(header, 0) != handshake_record) return "not a TLS handshake record";
  // The minor version means nothing (RFC 8446 section 5.1); the major version of TLS has always been 3.
  if (header.size() > 1 && byte_at(header, 1) != 3) return "not a TLS record";
  if (header.size() < record_header) return nullptr;
  const std::size_t length = std::size_t{byte_at(header, 3)} << 8 | byte_at(header, 4);
  if (length == 0) return "an empty handshake record";  // forbidden by RFC 8446 section 5.1
  if (length > record_payload_max) return "a TLS record is larger than 16 KiB";
  return nullptr;
}

// The payload of the handshake records, record by record.
class Records {
 public:
  explicit Records(std::string_view bytes) : bytes_(bytes) {}

  // The available part of the next record's payload; "" if there is none, or if its header is wrong.
  std::string_view next() {
    const std::string_view header = bytes_.substr(at_, record_header);
    why_ = check_record_header(header);
    if (why_ != nullptr || header.size() < record_header) return {};
    const std::size_t length = std::size_t{byte_at(header, 3)} << 8 | byte_at(header, 4);
    const std::string_view payload = bytes_.substr(at_ + record_header, length);
    missing_ = length - payload.size();
    at_ += record_header + payload.size();
    return payload;
  }
  std::size_t at() const { return at_; }
  std::size_t missing() const { return missing_; }  // bytes of the last record that have not arrived
  const char* why() const { return why_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t missing_ = 0;
  const char* why_ = nullptr;
};

// How much of the message has arrived; its header may span four records.
class Progress {
 public:
  void add(std::string_view payload) {
    for (const char c : payload.substr(0, message_header - std::min(bytes_, message_header))) {
      header_[header_bytes_++] = c;
    }
    bytes_ += payload.size();
  }
  std::size_t bytes() const { return bytes_; }
  bool wrong_type() const { return header_bytes_ > 0 && byte_at(header(), 0) != client_hello_message; }
  // Size of the whole message with its header; 0 while unknown.
  std::size_t wanted() const {
    return header_bytes_ < message_header ? 0 : message_header + Reader(header().substr(1)).number(3);
  }

 private:
  std::string_view header() const { return {header_.data(), header_bytes_}; }

  std::array<char, message_header> header_{};
  std::size_t header_bytes_ = 0;
  std::size_t bytes_ = 0;
};

// The body of the message, from `size` bytes of records that contain all of it.
std::string joined(std::string_view bytes, std::size_t size) {
  std::string message;
  message.reserve(size);
  Records records(bytes);
  while (message.size() < size) message += records.next();
  return message.substr(message_header);
}

Parsed read_joined(std::string_view records, std::size_t message_size, ClientHello& out) {
  const std::string message = joined(records, message_size);
  // SSL 3.0 has version 3.0, TLS 1.0 has 3.1; TLS 1.3 says 3.3 here and states 1.3 in an extension.
  const bool known_version = message.size() < 2 || (byte_at(message, 0) == 3 && byte_at(message, 1) >= 1);
  if (!known_version) return refuse(out, Alert::protocol_version, "older than TLS 1.0");
  if (const char* why = read_message(message, out)) return refuse(out, Alert::decode_error, why);
  return {.status = Parsed::Status::complete, .consumed = static_cast<std::uint32_t>(records.size())};
}

}  // namespace

bool ClientHello::offers(std::string_view protocol) const {
  for (Reader list(alpn_list); !list.empty();) {
    if (list.field(1) == protocol) return true;
  }
  return false;
}

Parsed parse_client_hello(std::string_view bytes, ClientHello& out) {
  out = {};
  const bool at_limit = bytes.size() >= client_hello_bytes_max;
  bytes = bytes.substr(0, client_hello_bytes_max);
  Records records(bytes);
  Progress progress;
  for (std::string_view payload = records.next(); !payload.empty(); payload = records.next()) {
    progress.add(payload);
    if (progress.wrong_type()) return refuse(out, Alert::decode_error, "the first message is not a ClientHello");
    const std::size_t wanted = progress.wanted();
    if (wanted > client_hello_message_max) return refuse(out, Alert::decode_error, "the ClientHello is too large");
    // A client sends nothing after its ClientHello until the server answers, so the record ends with the message.
    const std::size_t announced = progress.bytes() + records.missing();
    if (wanted > 0 && announced > wanted) {
      return refuse(out, Alert::decode_error, "more than a ClientHello in a record");
    }
    if (progress.bytes() == wanted) return read_joined(bytes.substr(0, records.at()), wanted, out);
    if (records.missing() > 0) break;
  }
  if (records.why() != nullptr) {
    return refuse(out, progress.bytes() > 0 ? Alert::decode_error : Alert::none, records.why());
  }
  if (at_limit) return refuse(out, Alert::decode_error, "the ClientHello comes in too many records");
  return {};
}

std::array<char, 7> fatal_alert(Alert alert) {
  constexpr char fatal = 2;
  // Version 3.3: RFC 8446 section 5.1 requires it for all records but a first ClientHello.
  return {static_cast<char>(alert_record), 3, 3, 0, 2, fatal, static_cast<char>(alert)};
}

}  // namespace ebb::wire
