// Any bytes as answers of the kernel (sock_diag, ctnetlink), as a recording, and as the numbers of one: no crash, no
// long arithmetic, and whatever is read can be judged, explained, written and read again.
#include <algorithm>
#include <sstream>

#include "base/assert.h"
#include "census/census.h"
#include "census/conntrack_reader.h"
#include "census/diag_reader.h"
#include "census/explain.h"
#include "census/fields.h"
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

void classify_and_show(census::Sample sample) {
  if (sample.spaces.empty()) return;
  census::History history;
  history.add(sample);
  const census::Census judged = census::classify_all(std::move(sample), history, {}, {});
  std::vector<std::uint32_t> shown;
  for (std::uint32_t i = 0; i < judged.size(); ++i) shown.push_back(i);
  const census::Print ignore = [](std::string_view) {};
  census::print_table(judged, shown, ignore);
  for (const auto by : {census::GroupBy::process, census::GroupBy::peer, census::GroupBy::verdict}) {
    census::print_groups(judged, shown, by, ignore);
  }
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
  classify_and_show(sample);
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
    classify_and_show(std::move(**sample));
  }
}

// Every fact of a socket and of its namespace straight from the bytes: text that happens to be a whole recording is too
// rare to try the arithmetic with.
struct NumberMaker {
  std::span<const std::uint8_t>& bytes;

  template <class Number>
  void operator()(const char*, Number& into) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) value = value << 8 | next();
    into = static_cast<Number>(value);
  }
  std::uint8_t next() {
    if (bytes.empty()) return 0;
    const std::uint8_t first = bytes.front();
    bytes = bytes.subspan(1);
    return first;
  }
};

void classify_any_numbers(std::span<const std::uint8_t> bytes) {
  NumberMaker make{bytes};
  census::Sample sample;
  sample.spaces.push_back({"fuzz", {}});
  sample.processes.push_back({1, std::string(1, static_cast<char>(make.next()))});
  census::each_limit(sample.spaces[0].limits, make);
  do {
    census::Socket socket{.local = *base::Address::parse("10.0.0.1:1"), .peer = *base::Address::parse("10.0.0.2:2")};
    socket.state = static_cast<census::State>(make.next() % census::state_names.size());
    socket.timer = static_cast<census::Timer>(make.next() % census::timer_names.size());
    const std::uint8_t has = make.next();
    socket.has_info = (has & 1) != 0;
    socket.options.known = (has & 2) != 0;
    if ((has & 4) != 0) socket.process = 0;
    census::each_number(socket, make);
    if (socket.has_info) census::each_info_number(socket, make);
    if (socket.options.known) census::each_option(socket.options, make);
    sample.sockets.push_back(socket);
  } while (!bytes.empty() && sample.sockets.size() < 16);
  const std::string text = recorded(sample);
  read_as_recording(text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 0 && data[0] == '{') {
    read_as_recording({reinterpret_cast<const char*>(data), size});
  } else if (size > 0 && data[0] == '#') {
    classify_any_numbers(std::span(data, size).subspan(1));
  } else {
    read_as_messages(std::as_bytes(std::span(data, size)));
  }
  return 0;
}
