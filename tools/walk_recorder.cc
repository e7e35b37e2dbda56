// Part of the router in builds with EBB_WALK: writes which functions are entered and left into the file that EBB_WALK
// names. tools/walk reads it. The file: the number of entries, then the entries; each is an
// offset into the image, with the thread in bits 48 to 62 and the top bit set for an exit.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" const char __executable_start;

namespace {

constexpr std::uint64_t entries_max = 1 << 22;
constexpr std::uint64_t exit_bit = 1ull << 63;
std::atomic<std::uint64_t>* entries = nullptr;  // [0] counts

// Threads that start before main record nothing.
__attribute__((constructor, no_instrument_function)) void open_record() {
  const char* path = std::getenv("EBB_WALK");
  if (path == nullptr) return;
  const int file = ::open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  constexpr std::size_t size = (entries_max + 1) * sizeof(std::uint64_t);
  if (file < 0 || ::ftruncate(file, size) != 0) std::abort();
  void* mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (mapped == MAP_FAILED) std::abort();
  entries = static_cast<std::atomic<std::uint64_t>*>(mapped);
}

__attribute__((no_instrument_function)) void note(const void* function, std::uint64_t mark) {
  static std::atomic<std::uint64_t> threads{0};
  thread_local const std::uint64_t thread = threads.fetch_add(1);
  if (entries == nullptr) return;
  const std::uint64_t at = entries[0].fetch_add(1);
  const auto offset =
      static_cast<std::uint64_t>(static_cast<const char*>(function) - static_cast<const char*>(&__executable_start));
  if (at < entries_max) entries[1 + at] = mark | (thread & 0x7fff) << 48 | offset;
}

}  // namespace

extern "C" {
__attribute__((no_instrument_function)) void __cyg_profile_func_enter(void* function, void*) { note(function, 0); }
__attribute__((no_instrument_function)) void __cyg_profile_func_exit(void* function, void*) {
  note(function, exit_bit);
}
}
