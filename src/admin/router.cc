#include "admin/router.h"

#include <algorithm>
#include <optional>

#include "admin/query.h"
#include "base/assert.h"
#include "wire/h1_write.h"

namespace ebb::admin {
namespace {

std::string_view method_name(wire::Method method) {
  switch (method) {
    case wire::Method::get: return "GET, HEAD";
    case wire::Method::post: return "POST";
    case wire::Method::put: return "PUT";
    case wire::Method::patch: return "PATCH";
    case wire::Method::delete_: return "DELETE";
    default: break;
  }
  return "";
}

std::string_view cut_segment(std::string_view& path) {
  path.remove_prefix(1);  // the slash
  const std::size_t end = std::min(path.find('/'), path.size());
  const std::string_view segment = path.substr(0, end);
  path.remove_prefix(end);
  return segment;
}

// The texts for the braces; empty result if the path does not match. Segments are decoded after the split, so a name
// may contain a slash as %2F.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  std::vector<std::string> parameters;
  while (pattern.starts_with('/') && path.starts_with('/')) {
    const std::string_view wanted = cut_segment(pattern);
    const std::string_view found = cut_segment(path);
    if (!wanted.starts_with('{')) {
      if (wanted != found) return std::nullopt;
      continue;
    }
    auto decoded = decode_percent(found);
    if (!decoded || decoded->empty()) return std::nullopt;
    parameters.push_back(std::move(*decoded));
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return parameters;
}

}  // namespace

void Router::add(wire::Method method, std::string path, Handler handler) {
  EBB_ASSERT(path.starts_with('/') && !method_name(method).empty());
  for (const Route& route : routes_) EBB_ASSERT(route.method != method || route.path != path);
  routes_.push_back({method, std::move(path), std::move(handler)});
}

void Router::dispatch(const Request& request, Respond respond) {
  const wire::Method method = request.method == wire::Method::head ? wire::Method::get : request.method;
  std::string allowed;
  for (Route& route : routes_) {
    const auto parameters = match(route.path, request.path);
    if (!parameters) continue;
    if (route.method == method) {
      Request complete = request;
      complete.parameters = *parameters;
      return route.handler(complete, std::move(respond));
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(method_name(route.method));
  }
  if (allowed.empty()) return respond(plain_answer(404, "there is no such page; / lists them"));
  Answer answer = plain_answer(405, "this page is for " + allowed);
  answer.extra = "Allow: " + allowed + "\r\n";
  respond(std::move(answer));
}

std::vector<Router::Documented> Router::routes() const {
  std::vector<Documented> all;
  for (const Route& route : routes_) all.push_back({route.method, route.path});
  return all;
}

Answer plain_answer(int status, std::string_view words) {
  Answer answer;
  answer.status = status;
  answer.body = std::to_string(status);
  answer.body += ' ';
  answer.body += wire::reason_phrase(status);
  answer.body += '\n';
  answer.body += words;
  answer.body += '\n';
  return answer;
}

}  // namespace ebb::admin
