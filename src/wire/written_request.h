// The head of a request for an endpoint, before the endpoint's version of HTTP is known. One block holds the text of
// HTTP/1, which is sent unchanged, and a mark for each line, by which HTTP/2 finds names and values without parsing.
// Copies share the block: retries and mirrors send the same head.
//
// Before: h1_write_request, which writes text and marks in one pass. Next: gate/backends (the text), h2_fields (the
// lines).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "base/block.h"
#include "wire/h1_head.h"

namespace ebb::wire {

// How HTTP/2 sends a line.
enum class LineKind : std::uint8_t {
  field,       // the same field
  host,        // :authority
  length,      // content-length, unless it requests a tunnel
  upgrade,     // :protocol, if it requests a tunnel
  te,          // te
  http1_only,  // not sent: Connection, Transfer-Encoding
};

class WrittenRequest {
 public:
  WrittenRequest() = default;

  const base::Slice& text() const { return text_; }  // empty: no head; then call nothing below
  const base::Block* block() const { return text_.block(); }

  // Views live as long as the block.
  std::string_view method() const { return text_.view().substr(0, summary().method_size); }
  std::string_view path() const { return text_.view().substr(summary().method_size + 1, summary().path_size); }
  std::string_view authority() const;  // "": the HTTP/1.0 client sent none
  std::string_view upgrade() const;    // "": no upgrade
  std::optional<std::string_view> value_of(std::string_view lower_case_name) const;
  std::size_t lines() const { return summary().lines; }

  // In the order of the text: take(kind, field). `hop` is not set.
  template <class Take>
  void each_line(Take&& take) const {
    const Mark* mark = marks();
    const char* at = text_.data() + summary().first_line;
    for (const Mark* end = mark + lines(); mark != end; ++mark) {
      const std::string_view name(at, mark->name_size);
      const std::string_view value(at + name.size() + separator.size(), mark->value_size);
      take(mark->kind, Field{.name = name, .value = value, .id = mark->id});
      at = value.data() + value.size() + line_end.size();
    }
  }

 private:
  friend class RequestPen;

  static constexpr std::string_view separator = ": ";
  static constexpr std::string_view line_end = "\r\n";

  // At the beginning of the block; the marks follow it, then the text.
  struct Summary {
    std::uint32_t method_size = 0;
    std::uint32_t path_size = 0;
    std::uint32_t first_line = 0;  // where it begins in the text
    std::uint32_t lines = 0;
  };
  struct Mark {
    std::uint32_t value_size : 24;
    FieldId id : 8;
    std::uint32_t name_size : 24;
    LineKind kind : 8;
  };

  explicit WrittenRequest(base::Slice text) : text_(std::move(text)) {}
  const Summary& summary() const { return *reinterpret_cast<const Summary*>(text_.block()->data()); }
  const Mark* marks() const { return reinterpret_cast<const Mark*>(text_.block()->data() + sizeof(Summary)); }

  base::Slice text_;
};

}  // namespace ebb::wire
