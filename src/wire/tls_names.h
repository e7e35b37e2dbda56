// The hosts that a session's certificate stands for. HTTP/2 clients send requests for several of them on one connection
// (RFC 9113 section 9.1.1), so this is asked for each request. Private to tls_*.cc.
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

// Of several certificates side by side (ECDSA and RSA) a host must be in all: which of them a client saw is not known
// any more when it resumes.
class CoveredNames {
 public:
  explicit CoveredNames(const std::vector<const Certificate*>& certificates);
  // A lower-case host of an authority; an address, with or without brackets, is looked for among addresses only. Two
  // look-ups at most, and no allocation.
  bool cover(std::string_view host) const;

 private:
  std::unordered_set<std::string, NameHash, std::equal_to<>> names_;  // "shop.test"; ".shop.test" for "*.shop.test"
  std::vector<std::string> addresses_;                                // in network order
};

}  // namespace ebb::wire
