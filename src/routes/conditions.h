// The conditions of one route, ready for requests: listener, method, header fields, query parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "routes/regex.h"
#include "routes/request_facts.h"
#include "routes/route_model.h"

namespace ebb::routes {

class Conditions {
 public:
  // The model outlives this.
  Conditions(const ConditionsModel& model, Regexes& regexes);

  // A header condition holds if one of the field's lines satisfies it; a query condition looks at the first parameter
  // of that name, as the Gateway API recommends. Both are compared as they were sent, without decoding.
  bool hold(const RequestFacts& request) const;

  // The greater rank is tried first: the Gateway API's order among routes with equal paths.
  using Rank = std::tuple<bool, bool, std::size_t, std::size_t>;
  static Rank rank(const ConditionsModel& model) {
    return {!model.listeners.empty(), !model.methods.empty(), model.headers.size(), model.query.size()};
  }

 private:
  struct Test {
    std::string name;
    TextKind kind;
    std::string_view text;
    const Regex* regex;  // for conditions of kind regex

    bool holds(std::string_view value) const;
  };
  static std::vector<Test> tests_of(std::span<const FieldCondition> conditions, Regexes& regexes);

  const ConditionsModel& model_;
  std::vector<Test> headers_;
  std::vector<Test> query_;
};

}  // namespace ebb::routes
