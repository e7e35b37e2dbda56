// Any text is either refused with diagnostics or becomes a model that compiles.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "config/load.h"
#include "routes/snapshot.h"

namespace {

std::expected<ebb::base::Address, std::string> no_names(const std::string&, std::uint16_t) {
  return std::unexpected("no names here");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto loaded = ebb::config::load_text(text, "fuzz.yaml", no_names);
  if (!loaded) {
    EBB_ASSERT(!loaded.error().empty());
    return 0;
  }
  ebb::base::Labels labels;
  std::shared_ptr<const ebb::routes::Snapshot> snapshot;
  const auto refusals = ebb::routes::Snapshot::compile(std::move(loaded->model), 1, labels, snapshot);
  EBB_ASSERT(refusals.empty() && snapshot != nullptr);
  snapshot->match("shop.example.com:80", "/api/v1?x");
  return 0;
}
