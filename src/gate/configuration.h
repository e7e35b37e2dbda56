// One configuration as a worker holds it. The snapshot itself is shared by all workers; LocalSnapshot adds what this
// worker keeps per backend, and counts its users without touching memory of other cores. The last exchange that began
// under it releases it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/slot_map.h"
#include "gate/endpoint_list.h"
#include "routes/snapshot.h"
#include "wire/tls.h"

namespace ebb::gate {

// Built by the control plane, sent to every worker.
struct Configuration {
  std::shared_ptr<const routes::Snapshot> snapshot;
  std::vector<std::shared_ptr<const wire::ServerContext>> tls;            // by listener; null where it is plain
  std::vector<std::shared_ptr<const wire::ClientContext>> backend_tls{};  // by backend; null where it is plain
  std::vector<std::shared_ptr<const EndpointList>> endpoints{};           // by backend; empty: as the snapshot lists
};

class LocalSnapshot {
 public:
  LocalSnapshot(Configuration configuration, std::uint64_t& alive)
      : configuration_(std::move(configuration)), alive_(alive) {
    alive_ += 1;
  }
  ~LocalSnapshot() { alive_ -= 1; }
  LocalSnapshot(const LocalSnapshot&) = delete;
  LocalSnapshot& operator=(const LocalSnapshot&) = delete;

  const routes::Snapshot& snapshot() const { return *configuration_.snapshot; }
  const routes::Model& model() const { return configuration_.snapshot->model(); }
  const Configuration& configuration() const { return configuration_; }
  // Null: plain, also where nobody made contexts (the simulator).
  std::shared_ptr<const wire::ClientContext> backend_tls(std::uint32_t backend) const {
    return backend < configuration_.backend_tls.size() ? configuration_.backend_tls[backend] : nullptr;
  }
  std::vector<base::Handle> views;     // of Endpoints, by backend: old snapshots follow the live list too
  std::vector<std::uint32_t> manners;  // by backend: BackendView::manner_number as this snapshot made it

 private:
  friend class SnapshotRef;
  Configuration configuration_;
  std::uint64_t& alive_;
  std::uint32_t references_ = 0;
};

class SnapshotRef {
 public:
  SnapshotRef() = default;
  explicit SnapshotRef(LocalSnapshot* snapshot) : snapshot_(snapshot) { count_in(); }
  SnapshotRef(const SnapshotRef& other) : snapshot_(other.snapshot_) { count_in(); }
  SnapshotRef(SnapshotRef&& other) noexcept : snapshot_(std::exchange(other.snapshot_, nullptr)) {}
  SnapshotRef& operator=(SnapshotRef other) noexcept {
    std::swap(snapshot_, other.snapshot_);
    return *this;
  }
  ~SnapshotRef() {
    if (snapshot_ != nullptr && --snapshot_->references_ == 0) delete snapshot_;
  }
  LocalSnapshot* operator->() const { return snapshot_; }
  LocalSnapshot& operator*() const { return *snapshot_; }
  explicit operator bool() const { return snapshot_ != nullptr; }

 private:
  void count_in() {
    if (snapshot_ != nullptr) snapshot_->references_ += 1;
  }
  LocalSnapshot* snapshot_ = nullptr;
};

}  // namespace ebb::gate
