#include "routes/conditions.h"

#include <algorithm>

#include "routes/normalise.h"

namespace ebb::routes {

namespace {

// A parameter without "=" has the empty value, as in a form (WHATWG URL, section 5.1).
std::optional<std::string_view> first_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view parameter = query.substr(0, end);
    const std::size_t equals = std::min(parameter.find('='), parameter.size());
    if (parameter.substr(0, equals) == name) return parameter.substr(std::min(equals + 1, parameter.size()));
    query.remove_prefix(std::min(end + 1, query.size()));
  }
  return std::nullopt;
}

// True for an empty list.
bool may_be(std::span<const std::string> allowed, std::string_view value) {
  return allowed.empty() || std::ranges::find(allowed, value) != allowed.end();
}

}  // namespace

Conditions::Conditions(const ConditionsModel& model, Regexes& regexes)
    : model_(model), headers_(tests_of(model.headers, regexes)), query_(tests_of(model.query, regexes)) {
  for (Test& test : headers_) test.name = lower_case(test.name);
}

std::vector<Conditions::Test> Conditions::tests_of(std::span<const FieldCondition> conditions, Regexes& regexes) {
  std::vector<Test> tests;
  for (const FieldCondition& condition : conditions) {
    const Regex* regex = condition.kind == TextKind::regex ? regexes.get(condition.text) : nullptr;
    tests.push_back({condition.name, condition.kind, condition.text, regex});
  }
  return tests;
}

bool Conditions::Test::holds(std::string_view value) const {
  switch (kind) {
    case TextKind::exact: return value == text;
    case TextKind::regex: return regex->matches(value);
    case TextKind::present: return true;
  }
  return false;
}

bool Conditions::hold(const RequestFacts& request) const {
  if (!may_be(model_.listeners, request.listener) || !may_be(model_.methods, request.method)) return false;
  const auto header_holds = [&request](const Test& test) {
    if (request.headers == nullptr) return false;
    for (std::size_t nth = 0;; ++nth) {
      const auto value = request.headers->line(test.name, nth);
      if (!value) return false;
      if (test.holds(*value)) return true;
    }
  };
  if (!std::ranges::all_of(headers_, header_holds)) return false;
  const std::string_view query = query_of(request.path);
  return std::ranges::all_of(query_, [query](const Test& test) {
    const auto value = first_parameter(query, test.name);
    return value && test.holds(*value);
  });
}

}  // namespace ebb::routes
