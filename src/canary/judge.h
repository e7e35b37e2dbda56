// Whether an answer is the right one. Pure. The status comes first: the router's own answers have neither nonce nor
// port, and would otherwise be reported as wrong for that (as by OpenShift's canary).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "canary/fault.h"
#include "canary/fields.h"

namespace ebb::canary {

// What came back, as far as anybody asks.
struct Answer {
  std::uint16_t status = 0;
  std::optional<std::string> nonce;
  std::optional<std::string> port;
  std::optional<std::string> pod;
  std::optional<std::string> node;
  std::optional<std::string> generation;
  std::optional<std::string> configuration;  // its digest
  std::string body;                          // its first bytes; of a WebSocket, what it sent back
};

enum class Echo : std::uint8_t {
  required,    // a canary server answers
  if_present,  // any server may answer; what it says of itself must be right
};

// As it was when the request was sent.
struct Expectation {
  std::uint16_t status = 200;
  std::string nonce;
  Echo echo = Echo::required;
  std::string body = std::string(body_text);     // must be part of it; "": any
  std::vector<std::uint16_t> ports = {};         // one of them; none: any
  std::vector<std::string> pods = {};            // one of them; "a-*": any whose name begins so; none: any
  std::optional<std::uint64_t> generation = {};  // at least; none: any, and none
  std::optional<std::string> stale_digest = {};  // not this configuration; "": one must be told
  base::Duration slow_above = base::Duration::max();
};

struct Judgement {
  Fault fault = Fault::none;
  std::string detail;  // equal for equal faults: no nonce, no time
};

Judgement judge(const Answer& answer, const Expectation& expected, base::Duration total);

}  // namespace ebb::canary
