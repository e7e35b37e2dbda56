// The file provider: turns a file into a model that compiles, or into a list of all its errors.
//
// Before: watch. Next: routes/compile.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostic.h"
#include "config/values.h"
#include "routes/model.h"

namespace ebb::config {

enum class Io : std::uint8_t { automatic, uring, epoll };

// Settings that apply only at the start of the process.
struct Startup {
  std::uint32_t workers = 0;  // 0: one per core
  Io io = Io::automatic;
  routes::AdminModel admin;
  std::string runtime;                                    // path of the runtime socket; "": none
  base::Duration audit_every = std::chrono::seconds{10};  // 0: never
};

struct Loaded {
  routes::Model model;
  Startup startup;
};

std::expected<Loaded, Diagnostics> load(const std::string& path);
// `file` is for messages; relative paths in the text start at its folder.
std::expected<Loaded, Diagnostics> load_text(std::string_view text, const std::string& file,
                                             const Resolve& resolve = resolve_by_system);

// One sentence for each start-up setting whose value in the file differs from the running process.
std::vector<std::string> needs_restart(const Startup& running, const Startup& wanted);

// The files that a model needs: certificates, keys, error bodies. Sorted, without duplicates.
std::vector<std::string> files_of(const routes::Model& model);

}  // namespace ebb::config
