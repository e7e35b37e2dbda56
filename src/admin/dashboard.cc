#include "admin/dashboard.h"

#include <algorithm>

#include "admin/web_files.h"

namespace ebb::admin {
namespace {

// Resources only from this server, no inline code, no frames: names that others chose cannot become scripts.
constexpr std::string_view guards =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cache-Control: no-cache\r\n";

void answer_with(std::string_view name, Respond respond) {
  const auto found = std::ranges::find(web_files(), name, &WebFile::name);
  if (found == web_files().end()) return respond(plain_answer(404, "there is no such file"));
  respond({.content_type = std::string(found->content_type),
           .body = std::string(found->body),
           .extra = std::string(guards)});
}

}  // namespace

void add_dashboard(Server& server) {
  server.add("/", [](const Request&, Respond respond) { answer_with("index.html", std::move(respond)); });
  server.add("/web/{file}",
             [](const Request& request, Respond respond) { answer_with(request.parameters[0], std::move(respond)); });
}

}  // namespace ebb::admin
