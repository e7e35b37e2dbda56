// How a backend chooses endpoints, as a provider gives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace ebb::routes {

enum class Balance : std::uint8_t { round_robin, least_request, random, source_hash, header_hash };

// What happens to clients bound to a draining endpoint: they move once another endpoint is ready, or stay until the
// deadline.
enum class StickyDrain : std::uint8_t { move, keep };
enum class CookieSecure : std::uint8_t { automatic, always, never };
enum class CookieSameSite : std::uint8_t { lax, strict, none };

// A cookie that binds a client to the endpoint that served it first.
struct StickyModel {
  std::string cookie;  // its name
  StickyDrain drain = StickyDrain::move;
  CookieSecure secure = CookieSecure::automatic;
  CookieSameSite same_site = CookieSameSite::lax;
  base::Duration max_age{};  // 0: until the browser closes
};

}  // namespace ebb::routes
