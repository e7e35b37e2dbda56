// HTTP/1 message heads, read strictly by RFC 9110 and 9112; ambiguous heads are refused. Pure functions over the bytes
// of a head from its first byte on. A second call with more bytes gives the same answer as a single call with all, so
// the caller keeps only the bytes.
//
// Before: wire/tls or the reactor. Next: h1_body (framing of what follows), h1_write (the head for the other side).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/cause.h"

namespace ebb::wire {

// Fields that the router must understand. One list: enumerator and name.
#define EBB_FIELDS(X)                       \
  X(host, "host")                           \
  X(connection, "connection")               \
  X(content_length, "content-length")       \
  X(transfer_encoding, "transfer-encoding") \
  X(te, "te")                               \
  X(trailer, "trailer")                     \
  X(upgrade, "upgrade")                     \
  X(expect, "expect")                       \
  X(keep_alive, "keep-alive")               \
  X(proxy_connection, "proxy-connection")   \
  X(forwarded, "forwarded")                 \
  X(x_forwarded_for, "x-forwarded-for")     \
  X(x_forwarded_host, "x-forwarded-host")   \
  X(x_forwarded_port, "x-forwarded-port")   \
  X(x_forwarded_proto, "x-forwarded-proto") \
  X(x_real_ip, "x-real-ip")                 \
  X(max_forwards, "max-forwards")           \
  X(via, "via")                             \
  X(date, "date")                           \
  X(user_agent, "user-agent")               \
  X(referer, "referer")

enum class FieldId : std::uint8_t {
  other,
#define X(id, text) id,
  EBB_FIELDS(X)
#undef X
      twin,  // a known name with another mark for a dash: `Transfer_Encoding`
};

struct Field {
  std::string_view name;   // as sent
  std::string_view value;  // without surrounding white space
  FieldId id = FieldId::other;
  bool hop = false;  // belongs to this connection only (RFC 9110 7.6.1): never forwarded
};

inline constexpr std::size_t fields_max = 256;

// Fixed size, so that reading a head allocates nothing; a worker reuses one per kind.
class Fields {
 public:
  std::span<const Field> all() const { return {items_.data(), count_}; }
  std::span<Field> all() { return {items_.data(), count_}; }
  std::size_t size() const { return count_; }
  void clear() { count_ = 0; }
  bool add(const Field& field) {
    if (count_ == fields_max) return false;
    items_[count_++] = field;
    return true;
  }
  const Field* find(FieldId id) const;  // the first, or nullptr
  const Field* find(std::string_view lower_case_name) const;

 private:
  std::array<Field, fields_max> items_;
  std::size_t count_ = 0;
};

struct HeadLimits {
  std::uint32_t head_bytes = 16384;  // of the whole head, with its empty line
  std::uint32_t target_bytes = 8192;
  std::uint32_t fields = 100;  // at most fields_max
};

enum class Method : std::uint8_t { other, get, head, post, put, delete_, connect, options, trace, patch };

// RFC 9110 9.2.1: the request changes nothing.
constexpr bool safe(Method method) {
  return method == Method::get || method == Method::head || method == Method::options || method == Method::trace;
}

// RFC 9110 9.2.2: repeating the request has the same effect as sending it once.
constexpr bool idempotent(Method method) { return safe(method) || method == Method::put || method == Method::delete_; }

enum class Framing : std::uint8_t {
  none,    // no body
  length,  // Content-Length
  chunked,
  until_close,  // responses only
};

struct RequestHead {
  Method method = Method::other;
  std::string_view method_text;
  std::string_view target;     // as sent
  std::string_view authority;  // host[:port], of the absolute form if used, else of Host; "" only in HTTP/1.0
  std::string_view path;       // origin form with the query, also when the target was in absolute form; or "*"
  std::uint8_t minor = 1;      // HTTP/1.minor
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;  // the client's wish: version and Connection
  bool expect_continue = false;
  std::string_view upgrade;  // value of Upgrade if Connection names it (HTTP/1.1 only), else ""
  bool te_trailers = false;
  Fields fields;
};

struct ResponseHead {
  std::uint16_t status = 0;
  std::string_view reason;
  std::uint8_t minor = 1;
  Framing framing = Framing::none;
  std::uint64_t content_length = 0;  // also for HEAD and 304, which have no body
  bool has_length = false;
  bool keep_alive = true;
  std::uint32_t idle_seconds = 0;  // the endpoint's keep-alive timeout; 0: not stated
  std::string_view upgrade;
  Fields fields;

  bool interim() const { return status >= 100 && status < 200 && status != 101; }
};

struct Parsed {
  enum class Status : std::uint8_t { incomplete, complete, refused };
  Status status = Status::incomplete;
  std::uint32_t consumed = 0;                  // complete: bytes of the head, its empty line included
  base::Cause cause = base::Cause::completed;  // if refused
  const char* why = "";                        // if refused: a literal for messages
};

// `bytes` begins at the first byte of the head (empty lines before a request line are skipped and counted). Views in
// `out` point into `bytes`.
Parsed parse_request(std::string_view bytes, const HeadLimits& limits, RequestHead& out);

// The framing of a response depends on the request's method.
Parsed parse_response(std::string_view bytes, const HeadLimits& limits, Method request_method, ResponseHead& out);

// Case-insensitive, ASCII only.
bool equals_ignoring_case(std::string_view a, std::string_view b);
// True if the comma-separated list contains the token.
bool list_has_token(std::string_view list, std::string_view token);

}  // namespace ebb::wire
