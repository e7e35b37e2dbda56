// Judges an answer. Pure. The status comes first: the router's own answers have neither nonce nor port, and would
// otherwise count as wrong for that reason (as in OpenShift's canary).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "canary/fault.h"
#include "canary/fields.h"

namespace ebb::canary {

// The parts of an answer that matter.
struct Answer {
  std::uint16_t status = 0;
  std::optional<std::string> nonce;
  std::optional<std::string> port;
  std::optional<std::string> pod;
  std::optional<std::string> node;
  std::optional<std::string> generation;
  std::optional<std::string> configuration;  // its digest
  std::string body;                          // its first bytes; for a WebSocket, the echoed message
};

enum class Echo : std::uint8_t {
  required,    // the canary's server must answer
  if_present,  // any server may answer; fields that it sends must be right
};

// As of the moment of the request.
struct Expectation {
  std::uint16_t status = 200;
  std::string nonce;
  Echo echo = Echo::required;
  std::string body = std::string(body_text);     // the body must contain it; "": any
  std::vector<std::uint16_t> ports = {};         // allowed ports; empty: any
  std::vector<std::string> pods = {};            // allowed pods; "a-*": names with that prefix; empty: any
  std::optional<std::uint64_t> generation = {};  // at least this one; empty: any or none
  std::optional<std::string> stale_digest = {};  // not this digest; "": any, but required
  base::Duration slow_above = base::Duration::max();
};

struct Judgement {
  Fault fault = Fault::none;
  std::string detail;  // equal for equal faults: without nonce and time
};

Judgement judge(const Answer& answer, const Expectation& expected, base::Duration total);

}  // namespace ebb::canary
