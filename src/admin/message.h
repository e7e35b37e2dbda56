// A request to a page of the admin server, and its answer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/address.h"
#include "wire/h1_head.h"

namespace ebb::admin {

// Views live until the handler returns.
struct Request {
  wire::Method method = wire::Method::get;
  std::string_view path;                         // without the query
  std::string_view query;                        // after the question mark
  std::string_view accept = {};                  // the Accept field
  std::string_view body = {};                    // complete
  base::Address peer = {};                       // the client's address
  std::span<const std::string> parameters = {};  // the text for each {} of the path, decoded
};

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string extra = {};  // further complete field lines, each with CRLF
};

// Takes the answer at any later time, from any thread; only the first counts. No effect if the server or the client is
// gone.
using Respond = std::move_only_function<void(Answer)>;
using Handler = std::move_only_function<void(const Request&, Respond)>;

}  // namespace ebb::admin
