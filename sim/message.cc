#include "sim/message.h"

#include <algorithm>
#include <charconv>

namespace ebb::sim {

namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::uint64_t to_number(std::string_view text, int base) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

}  // namespace

std::string_view MessageReader::field(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (key == name) return value;
  return {};
}

bool MessageReader::has_token(std::string_view name, std::string_view token) const {
  return lower(field(name)).find(token) != std::string::npos;
}

int MessageReader::status() const {
  return first_line_.size() < 12 ? 0 : static_cast<int>(to_number(std::string_view(first_line_).substr(9, 3), 10));
}

void MessageReader::next() { *this = MessageReader(); }

void MessageReader::read_head(ByteQueue& input) {
  begun_ = begun_ || !input.empty();
  const std::string_view bytes = input.view();
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return;
  std::string_view rest = bytes.substr(0, end + 2);
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t line_end = rest.find("\r\n");
    const std::string_view line = rest.substr(0, line_end);
    rest.remove_prefix(line_end + 2);
    if (first) {
      first_line_ = line;
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      state_ = State::bad;
      return;
    }
    fields_.emplace_back(lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
  }
  input.drop(end + 4);
  state_ = State::head_complete;
}

std::pair<BodyKind, std::uint64_t> MessageReader::framing(BodyKind otherwise) const {
  if (has_token("transfer-encoding", "chunked")) return {BodyKind::chunked, 0};
  if (!field("content-length").empty()) return {BodyKind::length, to_number(field("content-length"), 10)};
  return {otherwise, 0};
}

void MessageReader::start_body(BodyKind kind, std::uint64_t length) {
  kind_ = kind;
  left_ = length;
  const bool empty = kind == BodyKind::none || (kind == BodyKind::length && length == 0);
  state_ = empty ? State::complete : State::body;
}

void MessageReader::feed(ByteQueue& input) {
  if (state_ == State::head) read_head(input);
  if (state_ != State::body) return;
  switch (kind_) {
    case BodyKind::none: break;
    case BodyKind::until_close: body_ += input.pop(input.size()); break;
    case BodyKind::length: {
      const std::string piece = input.pop(std::min<std::uint64_t>(left_, input.size()));
      left_ -= piece.size();
      body_ += piece;
      if (left_ == 0) state_ = State::complete;
      break;
    }
    case BodyKind::chunked: read_chunked(input); break;
  }
}

bool MessageReader::read_line(ByteQueue& input, std::string& line) {
  const std::size_t end = input.view().find("\r\n");
  if (end == std::string_view::npos) return false;
  line = input.pop(end);
  input.drop(2);
  return true;
}

void MessageReader::read_chunked(ByteQueue& input) {
  std::string line;
  while (state_ == State::body) {
    if (chunk_ == Chunk::data) {
      if (input.empty()) return;
      const std::string piece = input.pop(std::min<std::uint64_t>(left_, input.size()));
      left_ -= piece.size();
      body_ += piece;
      if (left_ == 0) chunk_ = Chunk::data_end;
      continue;
    }
    if (!read_line(input, line)) return;
    if (chunk_ == Chunk::size) {
      if (line.empty()) state_ = State::bad;
      left_ = to_number(line, 16);
      chunk_ = left_ == 0 ? Chunk::trailer : Chunk::data;
    } else if (chunk_ == Chunk::data_end) {
      if (!line.empty()) state_ = State::bad;
      chunk_ = Chunk::size;
    } else if (line.empty()) {  // the end of the trailer
      state_ = State::complete;
    }
  }
}

void MessageReader::peer_finished() {
  if (state_ == State::body && kind_ == BodyKind::until_close) state_ = State::complete;
}

std::string chunked(std::string_view body, std::size_t piece) {
  std::string out;
  char size[20];
  while (!body.empty()) {
    const std::string_view part = body.substr(0, piece);
    body.remove_prefix(part.size());
    const auto end = std::to_chars(size, size + sizeof(size), part.size(), 16).ptr;
    out.append(size, end).append("\r\n").append(part).append("\r\n");
  }
  return out + "0\r\n\r\n";
}

}  // namespace ebb::sim
