#include "gate/grpc_timeout.h"

#include <algorithm>
#include <cstdint>

namespace ebb::gate {

namespace {

constexpr std::size_t digits_max = 8;
constexpr base::Duration timeout_max = std::chrono::hours{24};

// Zero for what is no unit.
base::Duration unit_of(char letter) {
  switch (letter) {
    case 'H': return std::chrono::hours{1};
    case 'M': return std::chrono::minutes{1};
    case 'S': return std::chrono::seconds{1};
    case 'm': return std::chrono::milliseconds{1};
    case 'u': return std::chrono::microseconds{1};
    case 'n': return std::chrono::nanoseconds{1};
    default: return base::Duration::zero();
  }
}

}  // namespace

std::optional<base::Duration> read_grpc_timeout(std::string_view text) {
  if (text.size() < 2 || text.size() > digits_max + 1) return std::nullopt;
  const base::Duration unit = unit_of(text.back());
  if (unit == base::Duration::zero()) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : text.substr(0, text.size() - 1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number > timeout_max / unit ? timeout_max : number * unit;
}

}  // namespace ebb::gate
