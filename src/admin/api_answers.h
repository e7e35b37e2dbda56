// Shared by all answers of the API: JSON, errors with a remedy, and the body of a request.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "admin/drains.h"
#include "admin/message.h"
#include "control/roster.h"
#include "gate/endpoint_facts.h"
#include "observe/json_writer.h"
#include "wire/json_reader.h"

namespace ebb::admin {

Answer json_answer(std::string body, int status = 200);
// {"error": {"status": 404, "reason": ..., "remedy": ...}}
Answer error_answer(int status, std::string_view reason, std::string_view remedy);
Answer refusal_answer(control::RosterRefusal refusal);

// The object of a body; an empty body counts as an empty object. Names outside `known` are refused.
std::expected<wire::JsonValue, Answer> read_object(std::string_view body, std::span<const std::string_view> known);

void write_in_flight(observe::JsonWriter& json, const gate::InFlight& in_flight);
void write_endpoint(observe::JsonWriter& json, const gate::EndpointFacts& facts);
// The same without the braces.
void write_endpoint_members(observe::JsonWriter& json, const gate::EndpointFacts& facts);
void write_drain(observe::JsonWriter& json, const DrainReport& report);

}  // namespace ebb::admin
