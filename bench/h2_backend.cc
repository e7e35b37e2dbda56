// The HTTP/2 service behind the proxies of `make bench`, as light as it can be: it looks at frames only (RFC 9113 4.1)
// and never into a header block, since every request gets the same answer, written once.
//   h2_backend PORT plain|grpc      128 bytes; or a gRPC message of 128 bytes and its status in trailers
#include <cstdint>
#include <deque>
#include <string>

#include "serving.h"

namespace {

enum Type : std::uint8_t { data = 0, headers = 1, settings = 4, ping = 6, window_update = 8 };
constexpr std::uint8_t end_stream = 1, ack = 1, end_headers = 4;
constexpr std::size_t frame_head_bytes = 9, preface_bytes = 24;
constexpr std::uint32_t window_bytes = 1U << 30;
constexpr std::size_t message_bytes = 128;

std::string big_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
  return text;
}

std::uint32_t number(std::string_view text) {
  std::uint32_t value = 0;
  for (const char byte : text) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

std::string frame(Type type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  std::string text = big_endian(static_cast<std::uint32_t>(payload.size()), 3);
  text.push_back(static_cast<char>(type));
  text.push_back(static_cast<char>(flags));
  return text + big_endian(stream, 4) + std::string(payload);
}

// A field without indexing, name and value in full (RFC 7541 6.2.2), so that no table has to be kept.
std::string field(std::string_view name, std::string_view value) {
  std::string text(1, '\0');
  for (const std::string_view part : {name, value}) {
    text.push_back(static_cast<char>(part.size()));
    text += part;
  }
  return text;
}

struct Answer {
  std::string head;
  std::string body;
  std::string trailers;
};

Answer plain_answer() {
  return {"\x88" + field("content-type", "text/plain") + field("content-length", "128"),  // 0x88 is ":status: 200"
          std::string(message_bytes, 'x'), ""};
}

Answer grpc_answer() {
  return {"\x88" + field("content-type", "application/grpc"),
          std::string(1, '\0') + big_endian(message_bytes, 4) + std::string(message_bytes, 'x'),
          field("grpc-status", "0")};
}

Answer answer;  // to every request

class Connection {
 public:
  bool unsent() const { return !unsent_.empty(); }

  bool flush(int descriptor) {
    if (!bench::send_some(descriptor, unsent_)) return false;
    if (!unsent()) output_.clear();
    return true;
  }

  bool take(int descriptor, std::string_view bytes) {
    input_ += bytes;
    std::string_view rest = input_;
    if (!greeted_) {
      if (rest.size() < preface_bytes) return true;
      rest.remove_prefix(preface_bytes);
      greet();
    }
    while (rest.size() >= frame_head_bytes) {
      const std::size_t size = frame_head_bytes + number(rest.substr(0, 3));
      if (rest.size() < size) break;
      take_frame(rest.substr(0, size));
      rest.remove_prefix(size);
    }
    input_.erase(0, input_.size() - rest.size());
    answer_ready();
    unsent_ = output_;
    return flush(descriptor);
  }

 private:
  void greet() {
    greeted_ = true;
    const std::string many_streams = big_endian(3, 2) + big_endian(1000, 4);     // RFC 9113 6.5.2
    const std::string wide_streams = big_endian(4, 2) + big_endian(1 << 20, 4);  // bodies never wait for us
    output_ += frame(settings, 0, 0, many_streams + wide_streams);
    output_ += frame(window_update, 0, 0, big_endian(window_bytes, 4));
  }

  void take_frame(std::string_view whole) {
    const auto type = static_cast<Type>(whole[3]);
    const auto flags = static_cast<std::uint8_t>(whole[4]);
    const std::uint32_t stream = number(whole.substr(5, 4)) & 0x7fffffff;
    const std::string_view payload = whole.substr(frame_head_bytes);
    if (type == settings && (flags & ack) == 0) output_ += frame(settings, ack, 0, "");
    if (type == ping && (flags & ack) == 0) output_ += frame(ping, ack, 0, payload);
    if (type == window_update && stream == 0) window_ += number(payload) & 0x7fffffff;
    if (type == data) received_ += static_cast<std::uint32_t>(payload.size());
    if ((type == data || type == headers) && (flags & end_stream) != 0) ready_.push_back(stream);
  }

  void answer_ready() {
    if (received_ > window_bytes / 2) {
      output_ += frame(window_update, 0, 0, big_endian(received_, 4));
      received_ = 0;
    }
    const auto cost = static_cast<std::int64_t>(answer.body.size());
    const bool has_trailers = !answer.trailers.empty();
    for (; !ready_.empty() && window_ >= cost; ready_.pop_front()) {
      const std::uint32_t stream = ready_.front();
      window_ -= cost;
      output_ += frame(headers, end_headers, stream, answer.head);
      output_ += frame(data, has_trailers ? 0 : end_stream, stream, answer.body);
      if (has_trailers) output_ += frame(headers, end_headers | end_stream, stream, answer.trailers);
    }
  }

  std::string input_;  // a partial frame
  std::string output_;
  std::string_view unsent_;  // of output_
  bool greeted_ = false;
  std::int64_t window_ = 65535;      // of the peer, for the connection; one answer always fits a stream's
  std::uint32_t received_ = 0;       // of bodies, not yet given back
  std::deque<std::uint32_t> ready_;  // streams whose answer waits for the window
};

}  // namespace

int main(int count, char** arguments) {
  const std::string_view kind = count == 3 ? arguments[2] : "";
  if (kind != "plain" && kind != "grpc") {
    std::fputs("usage: h2_backend PORT plain|grpc\n", stderr);
    return 2;
  }
  answer = kind == "grpc" ? grpc_answer() : plain_answer();
  bench::serve<Connection>(static_cast<std::uint16_t>(std::atoi(arguments[1])));
}
