#include "control/desired_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/assert.h"

namespace ebb::control {

namespace {

template <class Object>
void note_clashes(const std::vector<Object>& part, const std::vector<Object>& other, std::string_view kind,
                  std::string_view provider, std::string_view owner, config::Diagnostics& out) {
  std::unordered_set<std::string_view> taken;
  for (const Object& object : other) taken.insert(object.name);
  for (const Object& object : part) {
    if (!taken.contains(object.name)) continue;
    out.push_back({std::string(provider), 0, 0, fmt::format("{} \"{}\"", kind, object.name),
                   fmt::format("{} has one of that name", owner), "give it another name"});
  }
}

template <class Object>
void append(std::vector<Object>& all, const std::vector<Object>& part) {
  all.insert(all.end(), part.begin(), part.end());
}

}  // namespace

DesiredState::DesiredState(const std::vector<std::string_view>& providers) {
  for (const std::string_view provider : providers) parts_.push_back({.provider = provider});
}

std::expected<routes::Model, config::Diagnostics> DesiredState::join(std::string_view provider, routes::Model part) {
  const auto found = std::ranges::find(parts_, provider, &Part::provider);
  EBB_ASSERT(found != parts_.end());
  joined_ = static_cast<std::size_t>(found - parts_.begin());
  if (parts_.size() == 1) return part;
  if (config::Diagnostics found_clashes = clashes(joined_, part); !found_clashes.empty()) {
    return std::unexpected(std::move(found_clashes));
  }
  candidate_ = std::move(part);
  routes::Model all = joined_ == 0 ? candidate_ : parts_.front().model;
  for (std::size_t i = 1; i < parts_.size(); ++i) {
    const routes::Model& more = i == joined_ ? candidate_ : parts_[i].model;
    append(all.listeners, more.listeners);
    append(all.routes, more.routes);
    append(all.backends, more.backends);
    if (!more.digest.empty()) all.digest += "+" + more.digest;
  }
  return all;
}

void DesiredState::keep() {
  if (parts_.size() > 1) parts_[joined_].model = std::move(candidate_);
}

config::Diagnostics DesiredState::clashes(std::size_t with, const routes::Model& part) const {
  config::Diagnostics out;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (i == with) continue;
    const auto& [owner, model] = parts_[i];
    note_clashes(part.listeners, model.listeners, "listener", parts_[with].provider, owner, out);
    note_clashes(part.backends, model.backends, "backend", parts_[with].provider, owner, out);
  }
  return out;
}

}  // namespace ebb::control
