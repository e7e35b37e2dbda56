// Answers that the router makes itself, as a head and a body for whoever sends them.
#pragma once

#include <span>
#include <string>

#include "gate/front.h"

namespace ebb::gate {

OwnAnswer own_answer(base::Cause cause, wire::Method method, bool request_whole);

// Fills `head`; its views and the returned body live in `text`, in `errors`, in what the answer refers to, and in
// literals. For a gRPC request the answer is a status of gRPC in a head alone ("Trailers-Only"), for others the route's
// body, or one of `errors`, or a line of text.
std::string_view write_own_message(const OwnAnswer& answer, std::span<const routes::ErrorBodyModel> errors,
                                   wire::ResponseHead& head, std::string& text, bool say_cause = false);

// The same for a response that has begun.
std::string grpc_trailers(base::Cause cause);

// The status of gRPC that stands for one of HTTP (the mapping that gRPC gives for proxies).
int grpc_status(int http_status, base::Cause cause);

}  // namespace ebb::gate
