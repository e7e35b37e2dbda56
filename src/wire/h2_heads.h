// Turns header blocks into heads. nghttp2 has refused blocks that RFC 9113 8.2 and 8.3 call malformed. This file
// refuses what HTTP/1 would refuse, by the same functions, so that nothing can be smuggled to an HTTP/1 endpoint.
//
// Before: h2_block. Next: the listener of the session.
#pragma once

#include <string>

#include "wire/h1_head.h"
#include "wire/h2_block.h"

namespace ebb::wire {

// Views in `out` point into the block, or into `cookies` if several were joined.
Parsed read_request_block(const HeaderBlock& block, const HeadLimits& limits, bool ends_stream, std::string& cookies,
                          RequestHead& out);

// `request_method`: connect for an extended CONNECT, whose 200 begins a tunnel.
Parsed read_response_block(const HeaderBlock& block, const HeadLimits& limits, Method request_method, bool ends_stream,
                           ResponseHead& out);

// Appends the allowed lines, each with CRLF; returns nullptr, or the reason for a refusal.
const char* read_trailer_block(const HeaderBlock& block, std::string& out);

}  // namespace ebb::wire
