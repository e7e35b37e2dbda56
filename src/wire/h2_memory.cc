#include "wire/h2_memory.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace ebb::wire {

FreePieces& FreePieces::of_this_thread() {
  thread_local FreePieces pieces;
  return pieces;
}

FreePieces::~FreePieces() {
  limit_ = 0;
  for (Piece*& list : lists_) {
    while (list != nullptr) std::free(std::exchange(list, list->next));
  }
}

void* FreePieces::take(std::size_t bytes) {
  const std::size_t list = list_for(bytes);
  if (list >= lists_.size() || lists_[list] == nullptr) return std::malloc(bytes);
  kept_bytes_ -= bytes_in(list);
  return std::exchange(lists_[list], lists_[list]->next);
}

void FreePieces::give_back(void* piece) {
  if (piece == nullptr) return;
  const std::size_t usable = malloc_usable_size(piece);
  const std::size_t list = list_of(usable);
  const bool kept = usable >= sizeof(Piece) && list < lists_.size() && kept_bytes_ + bytes_in(list) <= limit_;
  if (!kept) return std::free(piece);
  kept_bytes_ += bytes_in(list);
  lists_[list] = ::new (piece) Piece{lists_[list]};
}

namespace {

void* take(std::size_t bytes, void*) { return FreePieces::of_this_thread().take(bytes); }

void give_back(void* piece, void*) { FreePieces::of_this_thread().give_back(piece); }

void* take_zeroed(std::size_t count, std::size_t bytes, void*) {
  if (bytes != 0 && count > std::numeric_limits<std::size_t>::max() / bytes) return nullptr;
  void* piece = FreePieces::of_this_thread().take(count * bytes);
  return piece == nullptr ? nullptr : std::memset(piece, 0, count * bytes);
}

void* resize(void* piece, std::size_t bytes, void*) { return std::realloc(piece, bytes); }

}  // namespace

nghttp2_mem* h2_memory() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return nullptr;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return nullptr;
#endif
#endif
  static nghttp2_mem memory{nullptr, take, give_back, take_zeroed, resize};
  return &memory;
}

}  // namespace ebb::wire
