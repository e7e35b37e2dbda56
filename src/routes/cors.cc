#include "routes/cors.h"

#include <algorithm>
#include <span>

namespace ebb::routes {

namespace {

constexpr const char* response_fields[] = {
    "Access-Control-Allow-Origin",  "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods",
    "Access-Control-Allow-Headers", "Access-Control-Expose-Headers",    "Access-Control-Max-Age",
};

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

bool has_star(std::span<const std::string> words) { return std::ranges::find(words, "*") != words.end(); }

// "https://*.example.com" matches "https://a.example.com" and "https://b.a.example.com". Origins are serialised in
// lower case and without the default port, so comparing octets is enough (RFC 6454 section 6.2).
bool fits(std::string_view pattern, std::string_view origin) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == origin;
  const std::string_view before = pattern.substr(0, star);
  const std::string_view behind = pattern.substr(star + 1);
  if (origin.size() <= before.size() + behind.size() || !origin.starts_with(before) || !origin.ends_with(behind)) {
    return false;
  }
  // The star matches labels only, never the end of another host plus further text.
  const std::string_view labels = origin.substr(before.size(), origin.size() - before.size() - behind.size());
  return std::ranges::all_of(labels, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

Cors::Cors(const CorsModel& model)
    : model_(model),
      any_origin_(has_star(model.origins)),
      methods_(joined(model.methods)),
      headers_(joined(model.headers)),
      expose_(joined(model.expose)) {}

bool Cors::permits(std::string_view origin) const {
  return any_origin_ || std::ranges::any_of(model_.origins, [origin](const std::string& p) { return fits(p, origin); });
}

CorsAnswer Cors::answer(const CorsRequest& request) const {
  CorsAnswer answer;
  FieldEdits& response = answer.response;
  response.dropped.assign(std::begin(response_fields), std::end(response_fields));
  // A cache must neither give one origin's answer to another origin, nor mix answers with and without Origin.
  if (!any_origin_) response.appended.push_back({"Vary", "Origin"});
  if (!request.origin) return answer;
  answer.preflight = request.method == "OPTIONS" && request.requested_method;
  if (!permits(*request.origin)) return answer;

  response.appended.push_back({"Access-Control-Allow-Origin", any_origin_ ? "*" : std::string(*request.origin)});
  if (model_.credentials) response.appended.push_back({"Access-Control-Allow-Credentials", "true"});
  if (answer.preflight) {
    permit_preflight(request, response);
  } else if (!expose_.empty()) {
    response.appended.push_back({"Access-Control-Expose-Headers", expose_});
  }
  return answer;
}

// With credentials a browser takes "*" as a literal name (Fetch, section 3.2.5): echo the requested names instead.
void Cors::permit_preflight(const CorsRequest& request, FieldEdits& response) const {
  const auto permission = [this](std::span<const std::string> permitted, const std::string& text,
                                 std::optional<std::string_view> requested) {
    return has_star(permitted) && model_.credentials ? std::string(requested.value_or("")) : text;
  };
  const std::string methods = permission(model_.methods, methods_, request.requested_method);
  const std::string headers = permission(model_.headers, headers_, request.requested_headers);
  if (!methods.empty()) response.appended.push_back({"Access-Control-Allow-Methods", methods});
  if (!headers.empty()) response.appended.push_back({"Access-Control-Allow-Headers", headers});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(model_.max_age).count();
  response.appended.push_back({"Access-Control-Max-Age", std::to_string(seconds)});
}

std::string hsts_value(const HstsModel& hsts) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(hsts.max_age).count();
  std::string text = "max-age=" + std::to_string(seconds);
  if (hsts.include_subdomains) text += "; includeSubDomains";
  if (hsts.preload) text += "; preload";
  return text;
}

}  // namespace ebb::routes
