// Any text is either refused with diagnostics or becomes a model that compiles and can be asked about requests.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "config/load.h"
#include "routes/path_change.h"
#include "routes/snapshot.h"

namespace {

using namespace ebb;

std::expected<base::Address, std::string> no_names(const std::string&, std::uint16_t) {
  return std::unexpected("no names here");
}

class OneHeader final : public routes::HeaderSource {
 public:
  std::optional<std::string_view> line(std::string_view, std::size_t nth) const override {
    if (nth > 0) return std::nullopt;
    return "canary";
  }
  std::size_t lines(std::string_view) const override { return 1; }
};

void apply(const routes::Policy& policy, const routes::Route& route, const routes::RequestFacts& request) {
  policy.addresses.admits(*base::Address::parse("10.1.2.3:4"));
  if (policy.cors) policy.cors->answer({request.method, "https://shop.example.com", "PUT", "x-a"});
  if (policy.model.redirect) {
    const auto place = routes::RequestPlace{"http", request.authority, request.path, 8080};
    EBB_ASSERT(!routes::location(*policy.model.redirect, route.model.path.text, place).empty());
  }
  if (policy.model.rewrite) {
    const std::string path = routes::changed_path(policy.model.rewrite->change, route.model.path.text, request.path);
    EBB_ASSERT(path.starts_with('/') && !path.starts_with("//"));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto loaded = config::load_text(text, "fuzz.yaml", no_names);
  if (!loaded) {
    EBB_ASSERT(!loaded.error().empty());
    return 0;
  }
  base::Labels labels;
  std::shared_ptr<const routes::Snapshot> snapshot;
  const auto refusals = routes::Snapshot::compile(std::move(loaded->model), 1, labels, snapshot);
  EBB_ASSERT(refusals.empty() && snapshot != nullptr);

  const OneHeader headers;
  const routes::RequestFacts request{"GET", "shop.example.com:80", "/api/v1?v=2", "web", &headers};
  const routes::Route* route = snapshot->match(request);
  if (route != nullptr && route->policy) apply(*route->policy, *route, request);
  if (route != nullptr && route->shares) routes::pick(*route->shares, 7);
  for (const char* listener : {"", "web"}) snapshot->match_server_name("shop.example.com", listener);
  return 0;
}
