// Any bytes as a body, in pieces whose sizes the input chooses: the same payload, trailers and verdict as in one
// piece; and what is written as chunks is read as the same payload.
#include <cstdlib>
#include <string>

#include "base/assert.h"
#include "wire/h1_body.h"
#include "wire/h1_write.h"

using namespace ebb;
using Status = wire::BodyReader::Step::Status;

namespace {

struct Outcome {
  Status status = Status::more;
  std::string payload;
  std::string trailers;
  std::string why;
  std::size_t consumed = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void feed(wire::BodyReader& reader, std::string_view bytes, Outcome& outcome) {
  while (!bytes.empty() && outcome.status == Status::more) {
    const wire::BodyReader::Step step = reader.next(bytes);
    outcome.status = step.status;
    outcome.trailers = reader.trailers();
    if (step.status == Status::refused) {
      outcome.why = step.why;
      outcome.consumed = 0;  // where exactly it was noticed is not part of the meaning
      return;
    }
    EBB_ASSERT(step.consumed <= bytes.size() && step.payload_at + step.payload_size <= step.consumed);
    EBB_ASSERT(step.status == Status::complete || step.consumed > 0);
    EBB_ASSERT(reader.complete() == (step.status == Status::complete));
    outcome.payload += bytes.substr(step.payload_at, step.payload_size);
    outcome.consumed += step.consumed;
    bytes.remove_prefix(step.consumed);
  }
}

Outcome read(wire::Framing framing, std::uint64_t length, std::string_view bytes, std::size_t piece) {
  wire::BodyReader reader(framing, length);
  Outcome outcome;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::string copy(bytes.substr(at, piece));
    feed(reader, copy, outcome);
  }
  return outcome;
}

void check_round_trip(const std::string& payload, const std::string& trailers) {
  std::string written;
  char size_line[18];
  if (!payload.empty()) {
    written.append(size_line, wire::write_chunk_size(size_line, payload.size())).append(payload).append("\r\n");
  }
  written.append("0\r\n").append(trailers).append("\r\n");
  const Outcome again = read(wire::Framing::chunked, 0, written, written.size());
  EBB_ASSERT(again.status == Status::complete && again.payload == payload && again.trailers == trailers);
  EBB_ASSERT(again.consumed == written.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const wire::Framing framing = data[0] < 220   ? wire::Framing::chunked
                                : data[0] < 240 ? wire::Framing::length
                                                : wire::Framing::until_close;
  const std::uint64_t length = data[0];
  const Outcome whole = read(framing, length, bytes, bytes.size());
  for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{data[1]} + 1}) {
    EBB_ASSERT(read(framing, length, bytes, piece) == whole);
  }
  if (framing == wire::Framing::chunked && whole.status == Status::complete && whole.trailers.size() < 4096) {
    check_round_trip(whole.payload, whole.trailers);
  }
  return 0;
}
