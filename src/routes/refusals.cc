#include "routes/refusals.h"

#include <chrono>

#include "routes/spelling.h"

namespace ebb::routes {

namespace {

constexpr std::uint32_t retries_max = 10;
constexpr Duration timeout_max = std::chrono::hours{24 * 365};

}  // namespace

const BackendModel* Refusals::check_backend(const std::string& key, std::string_view user, const std::string& name,
                                            const BackendsByName& backends) {
  if (const auto found = backends.find(name); found != backends.end()) return found->second;
  refuse(key, name.empty() ? std::string(user) + " needs a backend" : "there is no backend " + quoted(name),
         "name one of the backends, or add it");
  list_.back().unknown_backend = name;
  return nullptr;
}

void Refusals::check_timeout(const std::string& key, Duration value) {
  if (value <= Duration::zero()) {
    refuse(key, "a time-out must be above zero", "give a duration such as 5s; there is no value for \"never\"");
  } else if (value > timeout_max) {
    refuse(key, "a time-out may be at most a year", "give a shorter duration");
  }
}

void Refusals::check_retries(const std::string& key, std::uint32_t retries) {
  if (retries <= retries_max) return;
  refuse(key, std::to_string(retries) + " is out of range",
         "give 0 to 10; each retry multiplies the load on a backend that is in trouble");
}

void Refusals::check_range(const std::string& key, std::uint64_t value, std::uint64_t low, std::uint64_t high,
                           std::string_view unit) {
  if (value >= low && value <= high) return;
  const std::string behind = unit.empty() ? "" : " " + std::string(unit);
  refuse(key, std::to_string(value) + behind + " is out of range",
         "give " + std::to_string(low) + " to " + std::to_string(high));
}

void Refusals::check_name(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                          Seen& seen) {
  if (!is_name(name)) {
    refuse(key, name.empty() ? std::string(kind) + " needs a name" : quoted(name) + " is not a usable name",
           "give 1 to 253 visible ASCII characters without spaces, quotes and backslashes");
    return;
  }
  check_unique(key, kind, name, index, seen);
}

void Refusals::check_unique(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                            Seen& seen) {
  const auto [first, fresh] = seen.add(0, name, static_cast<std::uint32_t>(index));
  if (!fresh) {
    refuse(key, quoted(name) + " already names number " + std::to_string(first) + " of this list",
           "give each " + std::string(kind.substr(kind.find(' ') + 1)) + " a name of its own");
  }
}

}  // namespace ebb::routes
