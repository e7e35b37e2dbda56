// Any bytes as answers of the kernel (sock_diag, ctnetlink) and as a recording: no crash, and whatever is read can be
// judged, explained, written and read again.
#include <algorithm>
#include <sstream>

#include "base/assert.h"
#include "census/census.h"
#include "census/conntrack_reader.h"
#include "census/diag_reader.h"
#include "census/explain.h"
#include "census/json.h"
#include "census/recording.h"
#include "census/translations.h"

using namespace ebb;

namespace {

std::string recorded(const census::Sample& sample) {
  std::string out;
  census::record(sample, [&out](std::string_view line) { out += line; });
  return out;
}

void judge_and_show(census::Sample sample) {
  if (sample.spaces.empty()) return;
  census::History history;
  history.add(sample);
  const census::Census judged = census::judge_all(std::move(sample), history, {}, {});
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0; i < judged.size(); ++i) shown.push_back(i);
  const census::Print ignore = [](std::string_view) {};
  census::print_table(judged, shown, ignore);
  census::print_json(judged, shown, ignore);
  for (const std::uint32_t index : shown) EBB_ASSERT(!census::explain(judged, index, {}).empty());
}

void read_as_messages(census::Bytes bytes) {
  census::Sample sample;
  sample.spaces.push_back({"fuzz", {}});
  census::Translations translations;
  census::Messages messages(bytes);
  while (const auto message = messages.next()) {
    EBB_ASSERT(message->body.size() <= bytes.size());
    if (const auto socket = census::read_diag_message(message->body)) sample.sockets.push_back(*socket);
    if (const auto tracked = census::read_conntrack_message(message->body)) translations.add(*tracked);
  }
  judge_and_show(sample);
  std::istringstream again(recorded(sample));
  const auto same = census::Recording(again).next();
  EBB_ASSERT(same && *same && (*same)->sockets.size() == sample.sockets.size());
}

void read_as_recording(std::string_view text) {
  std::istringstream file{std::string(text)};
  census::Recording recording(file);
  for (;;) {
    auto sample = recording.next();
    if (!sample || !*sample) return;
    const std::string once = recorded(**sample);
    std::istringstream again(once);
    const auto same = census::Recording(again).next();
    EBB_ASSERT(same && *same && recorded(**same) == once);
    judge_and_show(std::move(**sample));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == '{') {
    read_as_recording({reinterpret_cast<const char*>(data), size});
  } else {
    read_as_messages(std::as_bytes(std::span(data, size)));
  }
  return 0;
}
