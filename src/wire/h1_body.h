// The body after a head: finds the payload in the bytes and the end of the message. Incremental; stores only trailers.
// Chunk extensions are dropped (RFC 9112 7.1.1 lets a recipient ignore them).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cause.h"
#include "wire/h1_head.h"

namespace ebb::wire {

class BodyReader {
 public:
  struct Step {
    enum class Status : std::uint8_t { more, complete, refused };
    Status status = Status::more;
    std::uint32_t consumed = 0;  // of the given bytes; includes the payload
    std::uint32_t payload_at = 0;
    std::uint32_t payload_size = 0;
    const char* why = "";  // refused: in words
  };

  BodyReader() = default;  // Framing::none: complete at once
  BodyReader(Framing framing, std::uint64_t content_length);

  // Handles one run of payload, or framing, at the front of `bytes`. Call again with the rest until `consumed` covers
  // all bytes or the message is complete. The result does not depend on where the input is split.
  Step next(std::string_view bytes);
  bool complete() const;
  Framing framing() const { return framing_; }
  // Framing::length: the bytes that are missing. Others: UINT64_MAX if unknown.
  std::uint64_t remaining() const;
  // Framing::length: skips bytes that the kernel spliced.
  void skip(std::uint64_t bytes);
  // Validated trailer fields as lines with CRLF, without the final empty line. Fields that RFC 9110 6.5.1 forbids in
  // trailers (framing, routing, authentication, hop-by-hop) are dropped.
  std::string_view trailers() const { return trailers_; }

 private:
  struct Framed {  // of the bytes before a payload
    std::size_t size = 0;
    const char* why = nullptr;  // refused
  };
  enum class State : std::uint8_t {
    size,
    size_digits,
    extension,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_line,
    done,
    broken
  };
  static constexpr std::uint8_t size_digits_max = 16;
  static constexpr std::size_t extension_bytes_max = 4096;  // over the whole message; more is a flood

  Step next_payload(std::string_view bytes, std::size_t at);
  Framed read_framing(std::string_view bytes);
  const char* take(char byte);
  const char* take_size_byte(char byte);
  Framed take_trailer_bytes(std::string_view bytes);
  const char* take_trailer_line(std::string_view line);

  Framing framing_ = Framing::none;
  State state_ = State::done;
  std::uint8_t size_digits_ = 0;
  std::uint32_t extension_bytes_ = 0;
  std::uint32_t trailer_bytes_ = 0;  // complete lines, including dropped ones
  std::uint64_t remaining_ = 0;      // missing bytes of the body or the chunk
  std::string line_;                 // an incomplete trailer line
  std::string trailers_;
};

}  // namespace ebb::wire
