// Any bytes as a path: the normal form is its own, a path of one spelling is it, every reading is a path again, and the
// readings of the normal form are among those of the path.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/assert.h"
#include "routes/path_form.h"
#include "routes/path_readings.h"

using namespace ebb;

namespace {

// Nothing: there are too many.
std::optional<std::set<std::string>> readings(std::string_view path) {
  std::set<std::string> all;
  const bool complete = routes::every_reading(path, [&all](std::string_view reading) {
    const std::string_view matched = reading.substr(0, reading.find_first_of("?#"));
    EBB_ASSERT(matched.starts_with('/'));
    EBB_ASSERT(std::ranges::all_of(matched, [](char c) { return c > ' ' && c < 127; }));
    all.emplace(reading);
    return true;
  });
  return complete ? std::optional(std::move(all)) : std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string path = "/" + std::string(reinterpret_cast<const char*>(data), size);
  std::string normal;
  const bool has_normal_form = routes::normalise_path(path, normal);
  if (routes::has_one_spelling(path)) EBB_ASSERT(has_normal_form && normal == path);
  if (has_normal_form) {
    std::string again;
    EBB_ASSERT(routes::normalise_path(normal, again) && again == normal && normal.starts_with('/'));
    EBB_ASSERT(!routes::is_strict(path) || normal.size() == path.size());
  }
  const auto all = readings(path);
  if (all && has_normal_form) {
    const auto of_normal_form = readings(normal);
    EBB_ASSERT(of_normal_form && std::ranges::includes(*all, *of_normal_form));
  }
  return 0;
}
