// The endpoints of one backend in the control plane: what the provider lists and what was asked for at run time, kept
// apart, because each has its own end. Pure; part of Roster.
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
    model,  // the snapshot lists the endpoints, or says that there are none
    apart,  // they come on their own (Roster::provide)
  };
  explicit BackendRoster(gate::EndpointList provided, Source source = Source::model);
  // Takes over what outlives a change of the provider's list; roster.h has the rules.
  void inherit(const BackendRoster& before);

  const std::string& name() const { return provided_->backend; }
  const SharedEndpointList& list() const { return list_; }
  const gate::EndpointList& provided() const { return *provided_; }
  Source source() const { return source_; }
  const gate::ListedEndpoint* find(std::string_view name) const;
  std::size_t added() const { return added_.size(); }
  // As the provider gave it, or as it was added with.
  std::uint32_t initial_weight(std::string_view name) const;

  // Of endpoints that find() knows.
  void set_wish(std::string_view name, lifecycle::Wish wish);  // `ready`: nor is it leaving, but for the provider
  void set_leaving(std::string_view name, bool leaving);
  void set_weight(std::string_view name, std::uint32_t weight);
  void set_address(std::string_view name, const base::Address& address);
  void set_limit(std::string_view name, std::uint32_t most);  // 0: none
  void remove(std::string_view name);
  // Of a name that find() does not know.
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
  bool hidden(const gate::ListedEndpoint& provided) const;  // by a removal
  // Either of them changes the endpoint of that name, depending on where it comes from.
  void change(std::string_view name, auto&& of_added, auto&& of_provided);
  void rebuild();

  const Source source_;
  SharedEndpointList provided_;
  std::map<std::string, Asked, std::less<>> asked_;  // of provided endpoints, by name
  std::vector<Added> added_;
  SharedEndpointList list_;
};

}  // namespace ebb::control
