// Collects the errors of validation; checks that several parts share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "routes/snapshot.h"
#include "routes/text_index.h"

namespace ebb::routes {

inline std::string indexed(std::string_view list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

inline std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

// Backends by name; of duplicates, the first.
using BackendsByName = std::unordered_map<std::string_view, const BackendModel*>;

class Refusals {
 public:
  // Names seen so far, each with the index of its first use.
  using Seen = TextIndex<std::uint32_t>;

  void refuse(std::string key, std::string reason, std::string remedy) {
    list_.push_back({std::move(key), std::move(reason), std::move(remedy), {}});
  }
  // Null, with a refusal, if no backend has that name. `user` is "a route" or the like.
  const BackendModel* check_backend(const std::string& key, std::string_view user, const std::string& name,
                                    const BackendsByName& backends);
  void check_timeout(const std::string& key, Duration value);
  // As above, where zero means "not given".
  void check_optional_timeout(const std::string& key, Duration value) {
    if (value != Duration::zero()) check_timeout(key, value);
  }
  void check_retries(const std::string& key, std::uint32_t retries);
  void check_range(const std::string& key, std::uint64_t value, std::uint64_t low, std::uint64_t high,
                   std::string_view unit = "");
  void check_name(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                  Seen& seen);
  void check_unique(const std::string& key, std::string_view kind, const std::string& name, std::size_t index,
                    Seen& seen);

  std::vector<Refusal> take() { return std::move(list_); }

 private:
  std::vector<Refusal> list_;
};

}  // namespace ebb::routes
