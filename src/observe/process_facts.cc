#include "observe/process_facts.h"

#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace ebb::observe {
namespace {

std::string read_file(const char* path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

// The n-th number (from 0) in a text of fields separated by white space.
std::uint64_t number_at(std::string_view text, std::size_t index) {
  constexpr std::string_view blanks = " \t\n";
  for (;; --index) {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    if (index == 0 || text.empty()) break;
    text.remove_prefix(std::min(text.find_first_of(blanks), text.size()));
  }
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// proc(5): field 22 of /proc/self/stat, in clock ticks since boot; `btime` of /proc/stat is the time of boot. Count
// fields after the command's name, which may contain blanks and parentheses.
double start_time() {
  const std::string stat = read_file("/proc/self/stat");
  const std::size_t name_end = stat.rfind(')');
  const std::string boot = read_file("/proc/stat");
  const std::size_t boot_at = boot.find("\nbtime ");
  if (name_end == std::string::npos || boot_at == std::string::npos) return 0;
  constexpr std::size_t fields_up_to_state = 3;
  const std::uint64_t ticks = number_at(std::string_view(stat).substr(name_end + 1), 22 - fields_up_to_state);
  const std::uint64_t boot_seconds = number_at(std::string_view(boot).substr(boot_at + 1), 1);
  return static_cast<double>(boot_seconds) + static_cast<double>(ticks) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::uint64_t count_open_fds() {
  std::error_code error;
  std::uint64_t count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    count += 1;
  }
  return count > 0 ? count - 1 : 0;  // without the descriptor of the folder itself
}

}  // namespace

base::Duration cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto duration = [](const timeval& time) {
    return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec};
  };
  return duration(usage.ru_utime) + duration(usage.ru_stime);
}

ProcessFacts read_process_facts() {
  rlimit fds{};
  getrlimit(RLIMIT_NOFILE, &fds);
  constexpr std::size_t resident_pages = 1;  // index in /proc/self/statm
  return {
      .start_time_seconds = start_time(),
      .cpu_seconds = std::chrono::duration<double>(cpu_time()).count(),
      .resident_bytes =
          number_at(read_file("/proc/self/statm"), resident_pages) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)),
      .open_fds = count_open_fds(),
      .max_fds = fds.rlim_cur,
  };
}

}  // namespace ebb::observe
