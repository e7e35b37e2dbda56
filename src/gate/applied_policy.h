// What a route's policy means for one exchange, from the complete head on. Only exchanges whose route asks for
// something have one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/block.h"
#include "base/slot_map.h"
#include "gate/field_changes.h"
#include "routes/policy_model.h"
#include "wire/content_coding.h"

namespace ebb::gate {

// Of a backend that binds clients to endpoints.
struct StickyClient {
  bool had_cookie = false;
  base::Handle bound{};      // the endpoint that its cookie names
  std::uint64_t client = 0;  // a hash of its address
  bool over_tls = false;     // its own connection
};

struct AppliedPolicy {
  ResponseChanges response;

  std::optional<StickyClient> sticky;

  // An answer that needs no endpoint: 204 to a preflight or to the last hop's OPTIONS, or a redirect.
  std::uint16_t status = 0;
  std::string location;
  bool says_methods = false;      // an answer to OPTIONS
  std::uint64_t retry_after = 0;  // seconds, of 429

  const routes::CompressionModel* compression = nullptr;
  wire::ContentCoding coding{};            // with `compression`: what the client takes
  std::unique_ptr<wire::Encoder> encoder;  // the response is being compressed
  std::string text;                        // of the compressed response's head

  std::vector<std::uint32_t> mirrors;  // backends that get a copy of the request as soon as it is whole
  base::Chain copy;                    // its payload
};

}  // namespace ebb::gate
