// Distinguishes HTTP/1 from HTTP/2 with prior knowledge (RFC 9113 3.3) by the first bytes of a plain connection, if
// both share a port. Next: gate/clients.
#pragma once

#include <cstdint>
#include <string_view>

namespace ebb::wire {

enum class Preface : std::uint8_t { absent, incomplete, whole };

// RFC 9113 3.4. No request that we serve begins like the preface.
constexpr Preface find_h2_preface(std::string_view bytes) {
  constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  if (bytes.starts_with(preface)) return Preface::whole;
  return preface.starts_with(bytes) ? Preface::incomplete : Preface::absent;
}

// A complete head of one line without version or fields: neither HTTP/1 nor an HTTP/2 preface. The client could not
// read an answer; RFC 9113 3.4 only requires closing the connection.
constexpr bool speaks_no_http(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, bytes.find("\r\n\r\n"));
  return !head.empty() && head.size() < bytes.size() && !head.contains("\r\n") && !head.contains("HTTP/");
}

}  // namespace ebb::wire
