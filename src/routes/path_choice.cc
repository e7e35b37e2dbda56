#include "routes/path_choice.h"

#include <algorithm>

#include "routes/path_change.h"
#include "routes/path_form.h"
#include "routes/path_readings.h"

namespace ebb::routes {

bool guards(const RouteModel& route) {
  if (route.paths && *route.paths != PathMode::as_is) return true;
  if (!route.policy) return false;
  return std::ranges::any_of(options_of(*route.policy),
                             [](const PolicyOption& option) { return option.given && option.guards; });
}

namespace {

const Route* match_as(const Snapshot& snapshot, RequestFacts request, std::string_view path) {
  request.path = path;
  return snapshot.match(request);
}

bool has_own_mode(const Route* route) { return route != nullptr && route->model.paths.has_value(); }

// A route with exactly this path, with "%2F" or ";" in it: its author knows how the endpoint reads it.
bool is_configured_oddly(const Route& route) {
  return route.model.path.kind == PathKind::exact && !has_one_spelling(route.model.path.text);
}

// A reading without any route would be an exposure too: "only /public is served" is an access rule.
bool readings_agree(const Snapshot& snapshot, const RequestFacts& request, std::string_view path, const Route* chosen) {
  if (chosen == nullptr || is_configured_oddly(*chosen)) return true;
  if (snapshot.all_paths_open(request.authority, *chosen)) return true;
  return every_reading(path, [&](std::string_view reading) {
    if (reading == path) return true;
    const Route* other = match_as(snapshot, request, reading);
    return other == chosen || (other != nullptr && !other->guards);
  });
}

// A rewrite puts the rest of the path behind another prefix. A reading that climbs out of that prefix leaves what the
// route gives access to, and reaches another place at the endpoint.
bool stays_in_rewrite(const Route* route, std::string_view path) {
  if (route == nullptr || route->policy == nullptr) return true;
  const std::optional<RewriteModel>& rewrite = route->policy->model.rewrite;
  return !rewrite || !rewrite->change.prefix || stays_below_root(behind_prefix(route->model.path.text, path));
}

// The two spellings of a path: as bytes, and in normal form.
struct Spellings {
  const RequestFacts& request;
  const Route* as_sent;
  bool has_normal_form;
  std::string_view normal_form;
  const Route* by_normal_form;
};

PathChoice choose_normal_form(const Snapshot& snapshot, const Spellings& path) {
  if (!path.has_normal_form) return {.ambiguous = true};
  const bool same = path.normal_form == path.request.path;
  const bool clear = readings_agree(snapshot, path.request, path.normal_form, path.by_normal_form) &&
                     stays_in_rewrite(path.by_normal_form, path.normal_form);
  return {.route = path.by_normal_form, .path = same ? path.request.path : path.normal_form, .ambiguous = !clear};
}

// A route with its own mode must not be reached by a spelling that leads to another route.
PathChoice choose_as_sent(const Spellings& path) {
  const bool conflict =
      path.as_sent != path.by_normal_form && (has_own_mode(path.as_sent) || has_own_mode(path.by_normal_form));
  return {.route = path.as_sent, .path = path.request.path, .ambiguous = conflict};
}

// As sent, unless some reading bypasses a route or escapes its rewrite. The normal form is equivalent by the standard:
// where readings differ, it decides.
PathChoice choose_guarded(const Snapshot& snapshot, const Spellings& path) {
  const Route* other = path.by_normal_form;
  const bool harmless = other == path.as_sent || (other != nullptr && !other->guards);
  if (!harmless || !stays_in_rewrite(path.as_sent, path.request.path)) return choose_normal_form(snapshot, path);
  return {.route = path.as_sent,
          .path = path.request.path,
          .ambiguous = !readings_agree(snapshot, path.request, path.request.path, path.as_sent)};
}

// The mode of the route that the raw path matches, if that route has its own mode and the normal form leads elsewhere.
std::optional<PathMode> mode_of_route_left(const Spellings& path) {
  if (path.as_sent == path.by_normal_form || !has_own_mode(path.as_sent)) return std::nullopt;
  return path.as_sent->model.paths;
}

PathChoice choose_odd_path(const Snapshot& snapshot, const RequestFacts& request, std::optional<PathMode> mode,
                           std::string& text) {
  const Route* as_sent = snapshot.match(request);
  const bool normal = normalise_path(request.path, text);
  const Spellings path{request, as_sent, normal, text, normal ? match_as(snapshot, request, text) : as_sent};
  if (has_own_mode(path.by_normal_form)) mode = path.by_normal_form->model.paths;
  if (const std::optional<PathMode> left = mode_of_route_left(path); left && !is_strict(request.path)) {
    // The stricter of the two modes applies.
    if (*left == PathMode::refuse) return {.ambiguous = true};
    const bool lenient = !mode || (*mode == PathMode::as_is && !has_own_mode(path.by_normal_form));
    if (*left == PathMode::normalise && lenient) mode = left;
  }
  if (!mode) return choose_guarded(snapshot, path);
  if (*mode == PathMode::as_is) return choose_as_sent(path);
  if (*mode == PathMode::refuse && !is_strict(request.path)) return {.ambiguous = true};
  return choose_normal_form(snapshot, path);
}

}  // namespace

PathChoice choose_path(const Snapshot& snapshot, const RequestFacts& request, std::optional<PathMode> mode,
                       std::string& text) {
  if (has_one_spelling(request.path)) return {.route = snapshot.match(request), .path = request.path};
  return choose_odd_path(snapshot, request, mode, text);
}

}  // namespace ebb::routes
