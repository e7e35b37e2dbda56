// Checks the form of names, hosts, paths and header fields.
#pragma once

#include <cstddef>
#include <string_view>

namespace ebb::routes {

inline constexpr std::size_t name_length_max = 253;

// Names appear in log lines and metric labels: visible ASCII that needs no escaping there.
bool is_name(std::string_view text);
bool is_any_host(std::string_view text);  // "" or "*"
// A name or a literal address, without wildcard or port.
bool is_host(std::string_view text);
// As is_host, or "*.example.com".
bool is_host_pattern(std::string_view text);
// Absolute, without query and empty segments, made of the characters of a path (RFC 3986 section 3.3).
bool is_path(std::string_view text);
// As is_path; a query may follow.
bool is_target(std::string_view text);
// RFC 9110 section 5.6.2: methods and field names.
bool is_token(std::string_view text);
// RFC 9110 section 5.5: no control characters but tab, no surrounding white space.
bool is_field_value(std::string_view text);
// "https://shop.example.com", "http://shop.example.com:8080", "https://*.example.com".
bool is_origin_pattern(std::string_view text);
// "text/html" or "text/*".
bool is_media_range(std::string_view text);

}  // namespace ebb::routes
