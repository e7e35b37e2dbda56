// HTTP/1 as a test understands it: deliberately simple, trusting and apart from wire/, so that a mistake there is not
// repeated here. Reads one message at a time from a queue of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/byte_queue.h"

namespace ebb::sim {

enum class BodyKind : std::uint8_t { none, length, chunked, until_close };

class MessageReader {
 public:
  enum class State : std::uint8_t { head, head_complete, body, complete, bad };

  State state() const { return state_; }
  bool begun() const { return begun_; }
  const std::string& first_line() const { return first_line_; }
  std::string_view field(std::string_view lower_case_name) const;                             // "" if absent
  const std::vector<std::pair<std::string, std::string>>& fields() const { return fields_; }  // names in lower case
  bool has_token(std::string_view lower_case_name, std::string_view token) const;
  int status() const;  // of a response

  // Reads on until the head is complete (once), then, after start_body(), until the message is.
  void feed(ByteQueue& input);
  void start_body(BodyKind kind, std::uint64_t length);
  // What the head says, for a message that may have a body.
  std::pair<BodyKind, std::uint64_t> framing(BodyKind otherwise) const;
  std::string take_body() { return std::exchange(body_, {}); }
  void peer_finished();
  void next();  // forget this message

 private:
  void read_head(ByteQueue& input);
  void read_chunked(ByteQueue& input);
  bool read_line(ByteQueue& input, std::string& line);

  State state_ = State::head;
  bool begun_ = false;
  BodyKind kind_ = BodyKind::none;
  std::uint64_t left_ = 0;  // of the body or of the chunk
  enum class Chunk : std::uint8_t { size, data, data_end, trailer } chunk_ = Chunk::size;
  std::string first_line_;
  std::vector<std::pair<std::string, std::string>> fields_;  // names in lower case
  std::string body_;
};

std::string chunked(std::string_view body, std::size_t piece);

}  // namespace ebb::sim
