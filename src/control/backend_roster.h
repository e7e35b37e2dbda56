// The endpoints of one backend in the control plane. Keeps the provider's list and the changes at run time apart,
// because they end separately. Pure; part of Roster.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gate/endpoint_list.h"

namespace ebb::control {

using SharedEndpointList = std::shared_ptr<const gate::EndpointList>;

class BackendRoster {
 public:
  enum class Source : std::uint8_t {
    model,  // the snapshot lists the endpoints, or that there are none
    apart,  // they come separately (Roster::provide)
  };
  explicit BackendRoster(gate::EndpointList provided, Source source = Source::model);
  // Takes over what survives a change of the provider's list; roster.h has the rules.
  void inherit(const BackendRoster& before);

  const std::string& name() const { return provided_->backend; }
  const SharedEndpointList& list() const { return list_; }
  const gate::EndpointList& provided() const { return *provided_; }
  Source source() const { return source_; }
  const gate::ListedEndpoint* find(std::string_view name) const;
  std::size_t added() const { return added_.size(); }
  // From the provider, or from the endpoint's addition.
  std::uint32_t initial_weight(std::string_view name) const;

  // For endpoints that find() knows.
  void set_wish(std::string_view name, lifecycle::Wish wish);  // `ready`: also ends a leave at run time
  void set_leaving(std::string_view name, bool leaving);
  void set_weight(std::string_view name, std::uint32_t weight);
  void set_address(std::string_view name, const base::Address& address);
  void set_limit(std::string_view name, std::uint32_t most);  // 0: no limit
  void remove(std::string_view name);
  // For a name that find() does not know.
  void add(gate::ListedEndpoint endpoint);

 private:
  struct Asked {
    std::optional<lifecycle::Wish> wish;
    std::optional<std::uint32_t> weight;
    std::optional<base::Address> address;
    std::shared_ptr<gate::SharedLimit> limit;
    bool leaving = false;
    bool removed = false;

    bool nothing() const { return !wish && !weight && !address && limit == nullptr && !leaving && !removed; }
  };
  struct Added {
    gate::ListedEndpoint endpoint;
    std::uint32_t initial_weight;
  };

  Added* find_added(std::string_view name);
  const gate::ListedEndpoint* find_provided(std::string_view name) const;
  bool hidden(const gate::ListedEndpoint& provided) const;  // after a removal
  // Calls the function for the endpoint's origin.
  void change(std::string_view name, auto&& of_added, auto&& of_provided);
  void rebuild();

  const Source source_;
  SharedEndpointList provided_;
  std::map<std::string, Asked, std::less<>> asked_;  // changes of provided endpoints, by name
  std::vector<Added> added_;
  SharedEndpointList list_;
};

}  // namespace ebb::control
