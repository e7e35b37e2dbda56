#include "app/version.h"

#include <fmt/format.h>

namespace ebb::app {

namespace {

std::string compiler() {
#ifdef __clang__
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("gcc {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

}  // namespace

std::string version_text() { return fmt::format("ebbgate {} ({})\n", EBB_VERSION, compiler()); }

std::string version_json() {
  return fmt::format("{{\"name\":\"ebbgate\",\"version\":\"{}\",\"compiler\":\"{}\"}}\n", EBB_VERSION, compiler());
}

}  // namespace ebb::app
