// Where the tree is, for tests that read its documents. Programs are built in build*/ of it; __FILE__ would not do,
// since the compiler's cache serves several clones.
#pragma once

#include <filesystem>

namespace ebb {

inline std::filesystem::path project_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
}

}  // namespace ebb
