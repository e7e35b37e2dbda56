// Memory of HTTP/2 streams, nghttp2's and ours: a dozen small pieces per request, allocated and freed by one thread.
// Freed pieces are kept by size for the next request; malloc() alone was a tenth of the forwarding cost. Each piece
// comes from malloc() and may go to realloc() or free(). Owned by the thread.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>

namespace ebb::wire {

class FreePieces {
 public:
  static constexpr std::size_t kept_bytes_max = std::size_t{1} << 20;
  static constexpr std::size_t piece_bytes_max = 1024;  // larger ones are not kept

  static FreePieces& of_this_thread();

  constexpr FreePieces() = default;
  FreePieces(const FreePieces&) = delete;
  FreePieces& operator=(const FreePieces&) = delete;
  ~FreePieces();

  void* take(std::size_t bytes);  // nullptr: out of memory
  void give_back(void* piece);
  std::size_t kept_bytes() const { return kept_bytes_; }

 private:
  struct Piece {
    Piece* next;
  };
  // malloc() returns blocks of 24 bytes, 40, 56 and so on: a list for each.
  static constexpr std::size_t step = 16;
  static constexpr std::size_t least = 8;
  static constexpr std::size_t list_for(std::size_t wanted) { return (wanted + (step - least - 1)) / step; }
  static constexpr std::size_t list_of(std::size_t usable) { return (usable - least) / step; }
  static constexpr std::size_t bytes_in(std::size_t list) { return list * step + least; }

  std::array<Piece*, piece_bytes_max / step + 1> lists_{};
  std::size_t kept_bytes_ = 0;
  std::size_t limit_ = kept_bytes_max;  // 0 when the thread ends: other objects may still free pieces
};

// For nghttp2_session_server_new3 and _client_new3; nullptr under a sanitizer, so that it sees every piece.
nghttp2_mem* h2_memory();

}  // namespace ebb::wire
