// Whether a response is compressed on its way to the client, the head that says so, and the memory of encoders.
#pragma once

#include <optional>
#include <string>

#include "gate/exchange.h"
#include "routes/policy_model.h"
#include "wire/content_coding.h"
#include "wire/h1_head.h"

namespace ebb::gate {

// The first coding of the route that the client takes.
std::optional<wire::ContentCoding> agreed_coding(const routes::CompressionModel& model, const wire::Fields& request);

// Only what is whole, uncoded, of a listed type and large enough, and nobody has forbidden it.
bool worth_compressing(const routes::CompressionModel& model, const wire::ResponseHead& head);

// The head of the compressed response: another length, another validator (RFC 9110 section 8.8.1), another reader.
// Texts live in `text`. False: it has no room for the fields.
bool write_compressed_head(wire::ContentCoding coding, wire::ResponseHead& head, std::string& text);

// An encoder holds memory as long as its response lasts, and a client that does not read makes it last. One client may
// have half of what is left of the budget; a response beyond it goes out as it came.
bool may_compress(Core& core, const Exchange& exchange);
void begin_compression(Core& core, Exchange& exchange);
void end_compression(Core& core, Exchange& exchange);

}  // namespace ebb::gate
