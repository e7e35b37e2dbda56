#include "lifecycle/coverage.h"

#ifdef EBB_RECORD_ROWS

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace ebb::lifecycle::coverage {
namespace {

// A byte for each row, then the rows as text. Every process of the program writes the same text, and the bytes begin as
// 0.
unsigned char* map_file(const std::string& path, std::size_t count, const std::string& rows) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return nullptr;
  const std::string text = "\n" + rows;
  const std::size_t size = count + text.size();
  void* mapped = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(size)) == 0 &&
      ::pwrite(file, text.data(), text.size(), static_cast<off_t>(count)) == static_cast<ssize_t>(text.size())) {
    mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  return mapped == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapped);
}

}  // namespace

Record::Record(std::string_view table, std::size_t count, const std::string& rows) {
  const char* folder = std::getenv("EBB_ROWS");
  if (folder == nullptr) return;
  const std::string path = std::string(folder) + "/" + program_invocation_short_name + "." + std::string(table);
  taken_ = map_file(path, count, rows);
  if (taken_ == nullptr)
    std::fprintf(stderr, "EBB_ROWS: cannot record in %s: %s\n", path.c_str(), std::strerror(errno));
}

}  // namespace ebb::lifecycle::coverage

#endif
