#include "routes/policy.h"

namespace ebb::routes {

Policy::Policy(const PolicyModel& from, const BackendIndex& backend_index, const ConfigurationMark* told)
    : model(from),
      request(FieldEdits::of(from.request_headers)),
      response(FieldEdits::of(from.response_headers)),
      addresses{AddressSet(from.allow), AddressSet(from.deny)},
      mark(told) {
  for (const MirrorModel& mirror : from.mirrors) mirrors.push_back({backend_index(mirror.backend), mirror.percent});
  if (from.cors) cors.emplace(*from.cors);
  if (from.hsts) hsts = hsts_value(*from.hsts);
}

const ErrorBodyModel* error_body(std::span<const ErrorBodyModel> bodies, std::uint16_t status) {
  const ErrorBodyModel* by_class = nullptr;
  for (const ErrorBodyModel& body : bodies) {
    if (status < body.statuses.first || status > body.statuses.last) continue;
    if (body.statuses.first == body.statuses.last) return &body;
    by_class = &body;
  }
  return by_class;
}

}  // namespace ebb::routes
