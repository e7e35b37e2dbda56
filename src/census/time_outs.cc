#include "census/time_outs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "reactor/descriptor.h"

namespace ebb::census {
namespace {

constexpr std::size_t text_max = 16 * 1024;  // Linux 6.18 has 4 KiB of names and numbers

std::string_view take_until(std::string_view& rest, char end) {
  const std::string_view taken = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(taken.size() + 1, rest.size()));
  return taken;
}

}  // namespace

std::optional<std::uint64_t> find_counter(std::string_view text, std::string_view group, std::string_view name) {
  while (!text.empty()) {
    std::string_view names = take_until(text, '\n');
    std::string_view numbers = take_until(text, '\n');
    if (take_until(names, ' ') != group || take_until(numbers, ' ') != group) continue;
    while (!names.empty()) {
      const std::string_view number = take_until(numbers, ' ');
      if (take_until(names, ' ') != name) continue;
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
      if (error != std::errc{} || end != number.data() + number.size()) return std::nullopt;
      return value;
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_time_outs() {
  // "self" would be the first thread's namespace.
  const reactor::Descriptor file(::open("/proc/thread-self/net/netstat", O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::array<char, text_max> text;
  std::size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size(); size += static_cast<std::size_t>(got)) {
    got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0) return std::nullopt;
  }
  return find_counter({text.data(), size}, "TcpExt:", "TCPTimeouts");
}

}  // namespace ebb::census
