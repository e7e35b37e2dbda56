#include "wire/h1_body.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"
#include "wire/h1_field.h"
#include "wire/h1_scan.h"

namespace ebb::wire {
namespace {

constexpr std::uint64_t size_max = std::numeric_limits<std::int64_t>::max();

int hex_digit(char c) {
  if (scan::is_digit(c)) return c - '0';
  const char lower = scan::lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

BodyReader::BodyReader(Framing framing, std::uint64_t content_length) : framing_(framing) {
  switch (framing) {
    case Framing::none: state_ = State::done; break;
    case Framing::length:
      remaining_ = content_length;
      state_ = content_length == 0 ? State::done : State::data;
      break;
    case Framing::chunked: state_ = State::size; break;
    case Framing::until_close: state_ = State::data; break;
  }
}

bool BodyReader::complete() const { return state_ == State::done; }

std::uint64_t BodyReader::remaining() const {
  if (complete()) return 0;
  return framing_ == Framing::length ? remaining_ : std::numeric_limits<std::uint64_t>::max();
}

void BodyReader::skip(std::uint64_t bytes) {
  EBB_ASSERT(framing_ == Framing::length && bytes <= remaining_);
  remaining_ -= bytes;
  if (remaining_ == 0) state_ = State::done;
}

BodyReader::Step BodyReader::next(std::string_view bytes) {
  bytes = bytes.substr(0, std::numeric_limits<std::uint32_t>::max());
  if (framing_ != Framing::chunked) return next_payload(bytes, 0);

  const Framed framed = read_framing(bytes);
  if (framed.why != nullptr) {
    state_ = State::broken;
    return {.status = Step::Status::refused, .why = framed.why};
  }
  return next_payload(bytes, framed.size);
}

// Returns at most one run. A later refusal then comes in a separate step, and the payload before it is the same however
// the bytes were split.
BodyReader::Step BodyReader::next_payload(std::string_view bytes, std::size_t at) {
  std::size_t size = state_ == State::data ? bytes.size() - at : 0;
  if (framing_ != Framing::until_close) {
    size = static_cast<std::size_t>(std::min<std::uint64_t>(size, remaining_));
    remaining_ -= size;
    if (state_ == State::data && remaining_ == 0) {
      state_ = framing_ == Framing::chunked ? State::data_cr : State::done;
    }
  }
  return {.status = complete() ? Step::Status::complete : Step::Status::more,
          .consumed = static_cast<std::uint32_t>(at + size),
          .payload_at = static_cast<std::uint32_t>(at),
          .payload_size = static_cast<std::uint32_t>(size)};
}

BodyReader::Framed BodyReader::read_framing(std::string_view bytes) {
  std::size_t at = 0;
  while (at < bytes.size() && state_ != State::data && state_ != State::done) {
    if (state_ == State::trailer_line) {
      const Framed line = take_trailer_bytes(bytes.substr(at));
      if (line.why != nullptr) return line;
      at += line.size;
    } else if (const char* why = take(bytes[at++]); why != nullptr) {
      return {.why = why};
    }
  }
  return {.size = at};
}

// Takes one byte of chunk framing; nullptr if the byte is allowed.
const char* BodyReader::take(char byte) {
  switch (state_) {
    case State::size:
    case State::size_digits: return take_size_byte(byte);
    case State::extension:
      if (byte == '\r') {
        state_ = State::size_lf;
      } else if (!scan::is(byte, scan::value_byte)) {
        return "invalid byte in a chunk extension";
      } else if (++extension_bytes_ > extension_bytes_max) {
        return "chunk extensions too long";
      }
      return nullptr;
    case State::size_lf:
      if (byte != '\n') return "bare CR in a chunk size line";
      state_ = remaining_ == 0 ? State::trailer_line : State::data;
      return nullptr;
    case State::data_cr:
      if (byte != '\r') return "chunk longer than its size";
      state_ = State::data_lf;
      return nullptr;
    case State::data_lf:
      if (byte != '\n') return "bare CR behind a chunk";
      state_ = State::size;
      size_digits_ = 0;
      return nullptr;
    case State::data:
    case State::trailer_line:
    case State::done:
    case State::broken: break;
  }
  return "body already refused";
}

// White space after the size is refused, also before an extension, where RFC 9112 7.1.1 calls it bad: servers have
// disagreed about the number.
const char* BodyReader::take_size_byte(char byte) {
  const int digit = hex_digit(byte);
  if (digit >= 0) {
    if (++size_digits_ > size_digits_max || remaining_ > size_max >> 4) return "chunk size too large";
    remaining_ = remaining_ << 4 | static_cast<std::uint64_t>(digit);
    state_ = State::size_digits;
    return nullptr;
  }
  if (state_ == State::size) return "chunk size missing";
  if (byte == '\n') return "bare LF in a chunk size line";
  if (byte != '\r' && byte != ';') return "invalid byte in a chunk size";
  state_ = byte == '\r' ? State::size_lf : State::extension;
  return nullptr;
}

// Reads up to the end of one line; keeps an incomplete line.
BodyReader::Framed BodyReader::take_trailer_bytes(std::string_view bytes) {
  const std::size_t line_feed = bytes.find('\n');
  const bool whole = line_feed != std::string_view::npos;
  const std::string_view part = whole ? bytes.substr(0, line_feed + 1) : bytes;
  if (trailer_bytes_ + line_.size() + part.size() > trailer_bytes_max) return {.why = "trailers too long"};
  if (line_.empty() && whole) return {.size = part.size(), .why = take_trailer_line(part)};
  line_.append(part);
  if (!whole) return {.size = part.size()};
  const char* why = take_trailer_line(line_);
  line_.clear();
  return {.size = part.size(), .why = why};
}

const char* BodyReader::take_trailer_line(std::string_view line) {
  const FieldLine read = read_field_line(line.data(), line.data() + line.size());
  trailer_bytes_ += static_cast<std::uint32_t>(line.size());
  switch (read.status) {
    case FieldLine::Status::incomplete:  // impossible: a line feed either ends a line or is refused
    case FieldLine::Status::refused: return read.why;
    case FieldLine::Status::empty: state_ = State::done; return nullptr;
    case FieldLine::Status::field: break;
  }
  if (may_be_trailer(read.field)) {
    trailers_.append(read.field.name).append(": ").append(read.field.value).append("\r\n");
  }
  return nullptr;
}

}  // namespace ebb::wire
