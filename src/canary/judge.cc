#include "canary/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace ebb::canary {
namespace {

template <class Number>
std::optional<Number> number(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

// Servers other than the canary's may omit their field.
bool let_off(const std::optional<std::string>& field, const Expectation& expected) {
  return !field && expected.echo == Echo::if_present;
}

Judgement judge_content(const Answer& answer, const Expectation& expected) {
  if (!let_off(answer.nonce, expected)) {
    if (!answer.nonce) return {Fault::wrong_body, fmt::format("no {}: no canary server", nonce_field.written)};
    if (*answer.nonce != expected.nonce) return {Fault::wrong_body, "the nonce is that of another request"};
  }
  if (!let_off(answer.nonce, expected) && answer.body.find(expected.body) == std::string::npos) {
    return {Fault::wrong_body,
            answer.body.empty() ? "the body is empty" : fmt::format("the body has no \"{}\"", expected.body)};
  }
  return {};
}

Judgement judge_port(const Answer& answer, const Expectation& expected) {
  if (expected.ports.empty()) return {};
  if (!answer.port) return {Fault::wrong_port, fmt::format("no {}", port_field.written)};
  const auto port = number<std::uint16_t>(*answer.port);
  if (port && std::ranges::find(expected.ports, *port) != expected.ports.end()) return {};
  return {Fault::wrong_port, fmt::format("answered on port {}, the route leads to {}", port.value_or(0),
                                         fmt::join(expected.ports, " or "))};
}

bool is_named(const std::string& pod, std::string_view pattern) {
  if (pattern.ends_with('*')) return pod.starts_with(pattern.substr(0, pattern.size() - 1));
  return pod == pattern;
}

Judgement judge_backend(const Answer& answer, const Expectation& expected) {
  if (expected.pods.empty()) return {};
  if (!answer.pod) return {Fault::wrong_backend, fmt::format("no {}", pod_field.written)};
  const auto is_it = [&answer](const std::string& pattern) { return is_named(*answer.pod, pattern); };
  if (std::ranges::any_of(expected.pods, is_it)) return {};
  return {Fault::wrong_backend, fmt::format("answered by {}", *answer.pod)};
}

Judgement judge_generation(const Answer& answer, const Expectation& expected) {
  if (!expected.generation) return {};
  if (!answer.generation) return {Fault::stale_generation, fmt::format("no {}", generation_field.written)};
  const auto generation = number<std::uint64_t>(*answer.generation);
  if (generation && *generation >= *expected.generation) return {};
  return {Fault::stale_generation,
          fmt::format("generation {}, the newest is {}", generation.value_or(0), *expected.generation)};
}

Judgement judge_configuration(const Answer& answer, const Expectation& expected) {
  const std::string shown = answer.configuration.value_or("");
  if (expected.stale_digest != shown) return {};
  return {Fault::stale_generation, shown.empty() ? fmt::format("no {}", configuration_field.written)
                                                 : fmt::format("configuration {} is not ours", shown)};
}

}  // namespace

Judgement judge(const Answer& answer, const Expectation& expected, base::Duration total) {
  if (answer.status != expected.status)
    return {fault_of_status(answer.status), fmt::format("status {}", answer.status)};
  for (const auto look : {judge_content, judge_port, judge_backend, judge_generation, judge_configuration}) {
    if (Judgement judgement = look(answer, expected); judgement.fault != Fault::none) return judgement;
  }
  if (total > expected.slow_above) {
    return {Fault::slow, fmt::format("longer than {} ms", base::to_ms(expected.slow_above))};
  }
  return {};
}

}  // namespace ebb::canary
