// One request to another router's admin listener, blocking: for commands, never for the router itself.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/clock.h"

namespace ebb::app {

struct HttpQuestion {
  std::string_view method;
  std::string target;
  std::string token = {};  // "": none
  std::string body = {};   // JSON
};

struct HttpAnswer {
  int status = 0;
  std::string body;
};

// The error says what failed, in words.
std::expected<HttpAnswer, std::string> ask_over_http(const base::Address& server, const HttpQuestion& question,
                                                     base::Duration patience, const base::Clock& clock);

}  // namespace ebb::app
