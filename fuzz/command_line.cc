// Any bytes as a line of the runtime socket: its parts lie in the line, in order, and words have a bound.
#include "admin/command_line.h"

#include <cstdint>

#include "base/assert.h"

using namespace ebb;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const char* behind = line.data();
  std::size_t words = 0;
  for (const std::string_view command : admin::split_commands(line)) {
    EBB_ASSERT(command.empty() || (command.data() >= behind && command.data() + command.size() <= line.data() + size));
    if (!command.empty()) behind = command.data() + command.size();
    const std::vector<std::string> parts = admin::split_words(command);
    EBB_ASSERT(parts.size() <= admin::words_max);
    for (const std::string& part : parts) {
      EBB_ASSERT(!part.empty());
      words += part.size();
    }
  }
  EBB_ASSERT(words <= size);
  return 0;
}
