#include <charconv>

#include "wire/h1_pen.h"
#include "wire/h1_write.h"

namespace ebb::wire {
namespace {

void write_status_line(Pen& pen, int status, std::string_view reason) {
  pen.text("HTTP/1.1 ").number(static_cast<std::uint64_t>(status)).text(" ").text(reason).text("\r\n");
}

bool response_field_passes(const Field& field, bool chunked) {
  if (field.hop || field.id == FieldId::content_length) return false;
  return field.id != FieldId::trailer || chunked;  // trailers need chunks
}

void write_response_connection(Pen& pen, const ResponseHead& head, const ResponsePlan& plan) {
  if (!head.upgrade.empty()) {
    pen.line("Connection", "upgrade").line("Upgrade", head.upgrade);
  } else if (head.interim()) {
    return;  // says nothing about the connection: the final response does
  } else if (!plan.keep_alive) {
    pen.line("Connection", "close");
  } else if (plan.client_minor == 0) {
    pen.line("Connection", "keep-alive");
  }
}

}  // namespace

base::Slice write_response(base::BlockPool& pool, const ResponseHead& head, const ResponsePlan& plan) {
  constexpr std::size_t fixed_bound = 256;
  Pen pen(pool, fixed_bound + head.reason.size() + head.upgrade.size() + bytes_of(head.fields) + plan.extra.size());
  write_status_line(pen, head.status, head.reason);
  for (const Field& field : head.fields.all()) {
    if (response_field_passes(field, plan.chunked)) pen.line(field.name, field.value);
  }
  if (plan.chunked) {
    pen.line("Transfer-Encoding", "chunked");
  } else if (head.has_length) {
    write_length(pen, head.content_length);
  }
  write_response_connection(pen, head, plan);
  pen.text(plan.extra).text("\r\n");
  return pen.finish();
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 103: return "Early Hints";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 411: return "Length Required";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 426: return "Upgrade Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    case 508: return "Loop Detected";
    default: return "";
  }
}

std::size_t write_chunk_size(char* buffer, std::uint64_t size) {
  constexpr std::size_t hex_digits_max = 16;
  char* at = std::to_chars(buffer, buffer + hex_digits_max, size, 16).ptr;
  at[0] = '\r';
  at[1] = '\n';
  return static_cast<std::size_t>(at + 2 - buffer);
}

}  // namespace ebb::wire
