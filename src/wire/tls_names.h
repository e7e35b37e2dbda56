// The hosts that a session's certificate covers. HTTP/2 clients send requests for several hosts on one connection (RFC
// 9113 section 9.1.1), so each request checks this. Private to tls_*.cc.
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "wire/tls_certificate.h"

namespace ebb::wire {

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
};

// With several certificates for a name (ECDSA and RSA), a host must be in all of them: after resumption it is unknown
// which one the client saw.
class CoveredNames {
 public:
  explicit CoveredNames(const std::vector<const Certificate*>& certificates);
  // `host` is the lower-case host of an authority; an address, with or without brackets, matches only addresses. At
  // most two look-ups, without allocation.
  bool cover(std::string_view host) const;

 private:
  std::unordered_set<std::string, NameHash, std::equal_to<>> names_;  // "shop.test"; ".shop.test" for "*.shop.test"
  std::vector<std::string> addresses_;                                // in network order
};

}  // namespace ebb::wire
