#include "gate/flow_table.h"

#include <cstring>

#include "base/rng.h"

namespace ebb::gate {

namespace {

std::uint64_t mixed(std::uint64_t state, std::uint64_t word) { return base::Rng(state ^ word).next(); }

std::uint64_t mixed(std::uint64_t state, const base::Address& address) {
  state = mixed(state, address.port());
  if (address.family() == AF_INET6) {
    const auto& raw = *reinterpret_cast<const sockaddr_in6*>(address.raw());
    std::uint64_t halves[2];
    std::memcpy(halves, &raw.sin6_addr, sizeof(halves));
    return mixed(mixed(state, halves[0]), halves[1]);
  }
  return mixed(state, reinterpret_cast<const sockaddr_in*>(address.raw())->sin_addr.s_addr);
}

}  // namespace

std::size_t FlowTable::Hash::operator()(const FlowKey& key) const {
  return mixed(mixed(mixed(seed, key.listener.slot), key.client), key.local);
}

Flow& FlowTable::add(const FlowKey& key) {
  const base::Handle handle = flows_.emplace(key);
  const bool fresh = by_key_.emplace(key, handle).second;
  EBB_ASSERT(fresh);
  Flow& flow = *flows_.find(handle);
  flow.self = handle;
  by_use_.push_back(flow);
  return flow;
}

Flow* FlowTable::find(const FlowKey& key) {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : flows_.find(found->second);
}

void FlowTable::use(Flow& flow) {
  flow.unlink();
  by_use_.push_back(flow);
}

void FlowTable::erase(base::Handle handle) {
  Flow* flow = flows_.find(handle);
  if (flow == nullptr) return;
  by_key_.erase(flow->key);
  flows_.erase(handle);
}

std::vector<base::Handle> FlowTable::all() const {
  std::vector<base::Handle> handles;
  flows_.for_each([&handles](base::Handle handle, const Flow&) { handles.push_back(handle); });
  return handles;
}

std::vector<base::Handle> FlowTable::of_listener(base::Handle listener) const {
  std::vector<base::Handle> handles;
  flows_.for_each([&](base::Handle handle, const Flow& flow) {
    if (flow.key.listener == listener) handles.push_back(handle);
  });
  return handles;
}

}  // namespace ebb::gate
