// A plain FIFO of bytes, for socket buffers and actors. Simplicity before speed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace ebb::sim {

class ByteQueue {
 public:
  std::size_t size() const { return bytes_.size() - front_; }
  bool empty() const { return size() == 0; }
  std::string_view view() const { return std::string_view(bytes_).substr(front_); }
  void push(std::string_view bytes) { bytes_.append(bytes); }
  void drop(std::size_t count) {
    front_ += std::min(count, size());
    if (front_ == bytes_.size()) {
      clear();
    } else if (front_ > 65536 && front_ > bytes_.size() / 2) {
      bytes_.erase(0, front_);
      front_ = 0;
    }
  }
  std::string pop(std::size_t count) {
    std::string part(view().substr(0, count));
    drop(part.size());
    return part;
  }
  void clear() {
    bytes_.clear();
    front_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t front_ = 0;
};

}  // namespace ebb::sim
