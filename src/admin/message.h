// What a page of the admin server is asked, and what it answers.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace ebb::admin {

// Views live until the handler returns.
struct Request {
  std::string_view path;    // without the query
  std::string_view query;   // behind the question mark
  std::string_view accept;  // of the field of that name
};

struct Answer {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  std::string extra = {};  // further complete field lines, each with CRLF
};

// Takes the answer at any later time, from any thread; only the first one counts. When the server is gone, or the
// client, nothing happens.
using Respond = std::move_only_function<void(Answer)>;
using Handler = std::move_only_function<void(const Request&, Respond)>;

}  // namespace ebb::admin
