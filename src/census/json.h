// The census as one JSON object, and the facts of sockets as JSON for recordings.
#pragma once

#include <span>

#include "census/census.h"
#include "census/table.h"
#include "observe/json_writer.h"

namespace ebb::census {

void print_json(const Census& census, std::span<const std::uint32_t> shown, const Print& print);

// Writes members of an object that the caller has opened.
void write_facts(observe::JsonWriter& json, const Socket& socket);
void write_limits(observe::JsonWriter& json, const Limits& limits);

}  // namespace ebb::census
