// The control plane's book of endpoints: the providers' lists and the changes at run time. Owned by app; any thread of
// the control plane may use it. Every change makes one new list of one backend and publishes it under the lock, so that
// workers get the changes in order.
//
// A change at run time stays until
//   the provider no longer lists that endpoint (its name at its address): then the roster drops all its changes;
//   the provider changes the value: its `state` ends a wish, a leave and a removal, its `weight` a weight;
//   the backend goes, together with the endpoints that were added to it.
#pragma once

#include <expected>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "control/backend_roster.h"

namespace ebb::control {

enum class RosterRefusal : std::uint8_t { no_backend, no_endpoint, name_taken, not_in_maintenance, too_many };

class Roster {
 public:
  static constexpr std::size_t added_max = 10'000;  // endpoints added at run time, over all backends

  using Publish = std::function<void(SharedEndpointList)>;
  // `publish` must neither block nor call back.
  Roster(base::Labels& labels, Publish publish) : labels_(labels), publish_(std::move(publish)) {}

  // A new snapshot's lists with the changes that survive the old one. Changes wait while an Adoption lives: a list made
  // from the old snapshot cannot overtake the new one on its way to the workers.
  class Adoption {
   public:
    const std::vector<SharedEndpointList>& lists() const { return lists_; }  // by backend of the snapshot
    void keep();  // call when the workers have them; without it nothing changes

   private:
    friend class Roster;
    Adoption(Roster& roster, const routes::Snapshot& snapshot);
    Roster& roster_;
    std::unique_lock<std::mutex> lock_;
    std::vector<std::unique_ptr<BackendRoster>> backends_;
    std::vector<SharedEndpointList> lists_;
  };
  Adoption adopt(const routes::Snapshot& snapshot) { return Adoption(*this, snapshot); }

  // From a provider whose endpoints change separately: the whole list of a backend without endpoints in the model. It
  // replaces the previous list; the roster fills in identities and labels. Later snapshots keep the list while they
  // have the backend and list no endpoints for it. False: unknown backend, or the model lists its endpoints.
  bool provide(gate::EndpointList list);

  // The endpoint from now on, or, after remove(), as it was.
  using Outcome = std::expected<gate::ListedEndpoint, RosterRefusal>;
  Outcome set_wish(std::string_view backend, std::string_view name, lifecycle::Wish wish);
  // Terminating, but serving: used only when no other endpoint is left.
  Outcome set_leaving(std::string_view backend, std::string_view name, bool leaving);
  Outcome set_weight(std::string_view backend, std::string_view name, std::uint32_t weight);
  // The limit of its concurrent work on all workers together; 0: no limit.
  Outcome set_limit(std::string_view backend, std::string_view name, std::uint32_t most);
  // Another address is another endpoint: the old one's work drains.
  Outcome set_address(std::string_view backend, std::string_view name, const base::Address& address);
  Outcome add(std::string_view backend, gate::ListedEndpoint endpoint);  // the roster fills in identity and label
  // Only in maintenance. The caller ensures that the endpoint is unused.
  Outcome remove(std::string_view backend, std::string_view name);

  Outcome find(std::string_view backend, std::string_view name) const;
  SharedEndpointList list(std::string_view backend) const;  // null: unknown backend
  std::vector<SharedEndpointList> lists() const;            // in the order of the configuration
  std::uint32_t initial_weight(std::string_view backend, std::string_view name) const;

 private:
  BackendRoster* find_backend(std::string_view name) const;
  Outcome change(std::string_view backend, std::string_view name, const std::function<void(BackendRoster&)>& edit);

  base::Labels& labels_;
  const Publish publish_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<BackendRoster>> backends_;  // in the order of the configuration
  std::unordered_map<std::string_view, BackendRoster*> by_name_;
  std::size_t added_ = 0;
};

}  // namespace ebb::control
