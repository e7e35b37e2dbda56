// Formats an ExchangeRecord as one line. Text from clients is not trusted: control bytes, quotes and broken UTF-8 are
// escaped, and long fields are cut with a mark. A line is therefore always one line, and a JSON line always parses.
#include <algorithm>
#include <charconv>
#include <chrono>

#include "observe/access_log.h"
#include "observe/text_escape.h"

namespace ebb::observe {
namespace {

constexpr std::size_t target_bytes_max = 2048;
constexpr std::size_t field_bytes_max = 512;

void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

void append_padded(std::string& out, std::uint64_t value, std::size_t width) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  const auto length = static_cast<std::size_t>(end - digits);
  if (length < width) out.append(width - length, '0');
  out.append(digits, end);
}

// The record's wall time (UTC), split once.
struct Civil {
  std::chrono::year_month_day date;
  std::chrono::hh_mm_ss<std::chrono::microseconds> time;

  explicit Civil(base::WallTime at)
      : date(std::chrono::floor<std::chrono::days>(at)),
        time(std::chrono::floor<std::chrono::microseconds>(at - std::chrono::floor<std::chrono::days>(at))) {}
  std::uint64_t year() const { return static_cast<std::uint64_t>(static_cast<int>(date.year())); }
  unsigned month() const { return static_cast<unsigned>(date.month()); }
  unsigned day() const { return static_cast<unsigned>(date.day()); }
};

void append_clock(std::string& out, const Civil& civil) {
  append_padded(out, static_cast<std::uint64_t>(civil.time.hours().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(civil.time.minutes().count()), 2);
  out += ':';
  append_padded(out, static_cast<std::uint64_t>(civil.time.seconds().count()), 2);
}

// "10/Oct/2000:13:55:36 +0000", as Apache's %t.
void append_apache_time(std::string& out, base::WallTime at) {
  static constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const Civil civil(at);
  append_padded(out, civil.day(), 2);
  out += '/';
  out += months[civil.month() - 1];
  out += '/';
  append_padded(out, civil.year(), 4);
  out += ':';
  append_clock(out, civil);
  out += " +0000";
}

// Milliseconds with microsecond precision: "12.345".
void append_ms(std::string& out, base::Duration duration) {
  const auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0)) / 1000;
  append_number(out, us / 1000);
  out += '.';
  append_padded(out, us % 1000, 3);
}

void append_host(std::string& out, const base::Address& address) {
  if (!address.valid()) return;
  char host[46];
  out.append(host, address.write_host(host));
}

void append_host_and_port(std::string& out, const base::Address& address) {
  if (!address.valid()) return;
  const bool brackets = address.family() == AF_INET6;
  if (brackets) out += '[';
  append_host(out, address);
  if (brackets) out += ']';
  out += ':';
  append_number(out, address.port());
}

// `,"name":` built at compile time, so that a key costs one append.
class Key {
 public:
  consteval Key(const char* name) {
    add(",\"");
    add(name);
    add("\":");
  }
  std::string_view text() const { return {bytes_, size_}; }

 private:
  consteval void add(const char* text) {
    while (*text != '\0') bytes_[size_++] = *text++;
  }
  char bytes_[24] = {};
  std::size_t size_ = 0;
};

// Writes key and value pairs, the first without a comma; the caller writes the braces.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) {}

  void text(const Key& key, std::string_view value, std::size_t bytes_max = field_bytes_max) {
    begin(key);
    out_ += '"';
    append_cut(out_, value, bytes_max, append_json_escaped);
    out_ += '"';
  }
  void address(const Key& key, const base::Address& value) {
    begin(key);
    out_ += '"';
    append_host_and_port(out_, value);
    out_ += '"';
  }
  void number(const Key& key, std::uint64_t value) {
    begin(key);
    append_number(out_, value);
  }
  void boolean(const Key& key, bool value) {
    begin(key);
    out_ += value ? "true" : "false";
  }
  void time(const Key& key, base::WallTime value) {
    begin(key);
    out_ += '"';
    append_rfc3339(out_, value);
    out_ += '"';
  }
  // Null if the exchange did not reach that point, which differs from zero time.
  void ms(const Key& key, base::Duration value, bool reached) {
    begin(key);
    if (reached) {
      append_ms(out_, value);
    } else {
      out_ += "null";
    }
  }

 private:
  void begin(const Key& key) {
    out_ += key.text().substr(first_ ? 1 : 0);
    first_ = false;
  }
  std::string& out_;
  bool first_ = true;
};

void format_json(const ExchangeRecord& record, const base::Labels& labels, std::string& out) {
  out += '{';
  JsonObject object(out);
  object.time("time", record.started);
  object.address("client", record.client);
  object.text("listener", labels.text(record.listener));
  object.text("method", record.method);
  object.text("authority", record.authority);
  object.text("target", record.target, target_bytes_max);
  object.text("protocol", record.protocol);
  object.text("tls", record.tls);
  object.number("status", record.status);
  object.text("cause", base::name(record.cause));
  object.text("fault", base::name(base::facts(record.cause).fault));
  object.text("route", labels.text(record.route));
  object.text("backend", labels.text(record.backend));
  object.text("endpoint", labels.text(record.endpoint));
  object.address("endpoint_address", record.endpoint_address);
  object.number("tries", record.tries);
  object.boolean("reused", record.reused);
  object.number("bytes_received", record.bytes_received);
  object.number("bytes_sent", record.bytes_sent);
  const bool handed_over = record.endpoint_address.valid() && record.until_backend >= base::Duration::zero();
  object.ms("until_backend_ms", record.until_backend, handed_over);
  object.ms("until_response_ms", record.until_response, record.until_response > base::Duration::zero());
  object.ms("total_ms", record.total, true);
  object.text("referer", record.referer);
  object.text("user_agent", record.user_agent);
  out += "}\n";
}

// A quoted field of the combined format; "-" if empty.
void append_quoted(std::string& out, std::string_view value) {
  out += '"';
  if (value.empty()) {
    out += '-';
  } else {
    append_cut(out, value, field_bytes_max, append_byte_escaped);
  }
  out += '"';
}

// The request line; "-" if the connection ended before it sent one.
void append_request_line(std::string& out, const ExchangeRecord& record) {
  if (record.method.empty()) {
    out += "\"-\"";
    return;
  }
  out += '"';
  append_cut(out, record.method, field_bytes_max, append_byte_escaped);
  out += ' ';
  append_cut(out, record.target, target_bytes_max, append_byte_escaped);
  out += ' ';
  append_cut(out, record.protocol, field_bytes_max, append_byte_escaped);
  out += '"';
}

// Apache's "combined". An unsent status is 000: parsers of this format expect three digits.
void format_common(const ExchangeRecord& record, std::string& out) {
  if (record.client.valid()) {
    append_host(out, record.client);
  } else {
    out += '-';
  }
  out += " - - [";
  append_apache_time(out, record.started);
  out += "] ";
  append_request_line(out, record);
  out += ' ';
  append_padded(out, record.status, 3);
  out += ' ';
  if (record.bytes_sent == 0) {
    out += '-';
  } else {
    append_number(out, record.bytes_sent);
  }
  out += ' ';
  append_quoted(out, record.referer);
  out += ' ';
  append_quoted(out, record.user_agent);
  out += '\n';
}

}  // namespace

void append_rfc3339(std::string& out, base::WallTime at) {
  const Civil civil(at);
  append_padded(out, civil.year(), 4);
  out += '-';
  append_padded(out, civil.month(), 2);
  out += '-';
  append_padded(out, civil.day(), 2);
  out += 'T';
  append_clock(out, civil);
  out += '.';
  append_padded(out, static_cast<std::uint64_t>(civil.time.subseconds().count()), 6);
  out += 'Z';
}

void format_record(const ExchangeRecord& record, LogFormat format, const base::Labels& labels, std::string& out) {
  out.clear();
  switch (format) {
    case LogFormat::off: return;
    case LogFormat::json: return format_json(record, labels, out);
    case LogFormat::common: return format_common(record, out);
  }
}

}  // namespace ebb::observe
