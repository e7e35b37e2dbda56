// The service behind the proxies of `make bench`: as light as a server can be, so that the proxies are what the load
// fills. A proxy that is never busy wakes for each request alone and looks dearer than one with a queue.
//   backend PORT      /small 128 bytes, /big 1 MiB, /post takes a body of any size
#include <charconv>
#include <string>

#include "serving.h"

namespace {

std::string answer(std::string_view body, std::string_view more = "") {
  return "HTTP/1.1 200 OK\r\nServer: bench\r\nContent-Type: text/plain\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n" + std::string(more) + "\r\n" + std::string(body);
}

const std::string small_answer = answer(std::string(128, 'x'));
const std::string last_answer = answer(std::string(128, 'x'), "Connection: close\r\n");
const std::string post_answer = answer("taken");
const std::string big_answer = answer(std::string(1 << 20, '0'));

const std::string& answer_to(std::string_view head) {
  if (head.starts_with("POST ")) return post_answer;
  return head.starts_with("GET /big") ? big_answer : small_answer;
}

// Only what the proxies send: a length, or no body.
std::size_t body_size(std::string_view head) {
  for (const std::string_view name : {"content-length: ", "Content-Length: "}) {
    const std::size_t at = head.find(name);
    if (at == std::string_view::npos) continue;
    std::size_t size = 0;
    std::from_chars(head.data() + at + name.size(), head.data() + head.size(), size);
    return size;
  }
  return 0;
}

class Connection {
 public:
  bool unsent() const { return !unsent_.empty(); }
  bool flush(int descriptor) { return bench::send_some(descriptor, unsent_) && (!last_ || unsent()); }

  bool take(int descriptor, std::string_view bytes) {
    if (to_read_ == 0) {
      std::string_view input = bytes;
      if (!head_.empty()) input = head_.append(bytes);
      const std::size_t end = input.find("\r\n\r\n");
      if (end == std::string_view::npos) {
        if (head_.empty()) head_ = bytes;
        return true;
      }
      begin(input.substr(0, end + 4));
      const std::size_t rest = input.size() - end - 4;
      to_read_ -= rest < to_read_ ? rest : to_read_;
      head_.clear();
    } else {
      to_read_ -= bytes.size() < to_read_ ? bytes.size() : to_read_;
    }
    if (to_read_ > 0) return true;
    unsent_ = current_;
    return flush(descriptor);
  }

 private:
  void begin(std::string_view head) {
    to_read_ = body_size(head);
    last_ = head.find("\r\nConnection: close\r\n") != std::string_view::npos;
    current_ = last_ ? last_answer : answer_to(head);
  }

  std::string head_;         // a partial one
  std::size_t to_read_ = 0;  // of the body
  bool last_ = false;        // the request asked for the close
  std::string_view current_;
  std::string_view unsent_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: backend PORT\n", stderr);
    return 2;
  }
  bench::serve<Connection>(static_cast<std::uint16_t>(std::atoi(arguments[1])));
}
