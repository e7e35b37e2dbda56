// Converts heads to the name/value pairs of nghttp2. Hop-by-hop and connection fields are dropped, as in h1_write.
// nghttp2 copies the pairs and writes names in lower case, so views are enough. It need not copy our own names.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <span>
#include <string_view>

#include "wire/h1_head.h"
#include "wire/written_request.h"

namespace ebb::wire {

class H2Fields {
 public:
  static H2Fields& of_this_thread();  // 10 KiB, in use only until nghttp2 has copied the pairs

  void set_response(const ResponseHead& head);
  void set_request(const RequestHead& head, std::string_view scheme);
  // `tunnel`: the upgrade becomes an extended CONNECT (RFC 8441); else the upgrade is ignored.
  void set_request(const WrittenRequest& head, std::string_view scheme, bool tunnel);
  void set_trailers(std::string_view lines);

  const nghttp2_nv* data() const { return pairs_.data(); }
  std::size_t size() const { return count_; }

 private:
  static constexpr std::size_t own_pairs_max = 8;  // pseudo fields, content-length, te

  void add(std::string_view name, std::string_view value, std::uint8_t flags = NGHTTP2_NV_FLAG_NONE);
  void add_own(std::string_view name, std::string_view value);  // a literal in lower case
  void add_field(const Field& field);
  void add_length(std::uint64_t length);

  std::array<nghttp2_nv, fields_max + own_pairs_max> pairs_;
  std::size_t count_ = 0;
  char status_[4] = {};
  char length_[20] = {};
};

}  // namespace ebb::wire
