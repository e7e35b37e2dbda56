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

struct HttpFailure {
  std::string words;
  bool absent = false;  // nothing listens there: refused, or no route
};

struct HttpPatience {
  base::Duration connect;
  base::Duration answer;  // after that, for the answer
};

std::expected<HttpAnswer, HttpFailure> ask_over_http(const base::Address& server, const HttpQuestion& question,
                                                     const HttpPatience& patience, const base::Clock& clock);

}  // namespace ebb::app
