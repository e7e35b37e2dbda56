// Boost.Beast, a strict reader that is independent of llhttp.
#include <boost/beast/http.hpp>
#include <limits>

#include "wire/oracle_verdict.h"

namespace ebb::wire::oracle {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

template <bool request>
HeadVerdict head(std::string_view bytes) {
  http::parser<request, http::string_body> parser;
  parser.body_limit(boost::none);
  parser.header_limit(std::numeric_limits<std::uint32_t>::max());
  error_code error;
  while (!parser.is_header_done()) {
    const std::size_t used = parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
    bytes.remove_prefix(used);
    if (error == http::error::need_more || (!error && used == 0)) return {};
    if (error) return {.status = Parsed::Status::refused, .why = error.message()};
  }
  HeadVerdict result{.status = Parsed::Status::complete};
  if constexpr (!request) {
    const unsigned status = parser.get().result_int();
    if (status < 200 || status == 204 || status == 304) return result;
  }
  if (parser.chunked()) {
    result.framing = Framing::chunked;
  } else if (parser.content_length()) {
    result.framing = Framing::length;
    result.content_length = *parser.content_length();
  } else if (!request && parser.need_eof()) {
    result.framing = Framing::until_close;
  }
  return result;
}

BodyVerdict chunked(std::string_view bytes) {
  http::request_parser<http::string_body> parser;
  parser.body_limit(boost::none);
  parser.eager(true);
  error_code error;
  const std::string whole = std::string(chunked_head) + std::string(bytes);
  std::size_t used = 0;
  while (!parser.is_done()) {
    const std::size_t step = parser.put(boost::asio::const_buffer(whole.data() + used, whole.size() - used), error);
    used += step;
    if (error == http::error::need_more || (!error && step == 0)) return {};
    if (error) return {.status = Parsed::Status::refused, .why = error.message()};
  }
  return {.status = Parsed::Status::complete, .payload = parser.get().body(), .consumed = used - chunked_head.size()};
}

}  // namespace

Reader beast() { return {"beast", head<true>, head<false>, chunked}; }

}  // namespace ebb::wire::oracle
