// Any bytes as the answer to a probe, in each protocol: the same outcome wherever they are split, and nothing kept
// beyond its limit.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/assert.h"
#include "canary/dialogue.h"

using namespace ebb;
using canary::Dialogue;

namespace {

struct Heard {
  Dialogue::Step step = Dialogue::Step::waiting;
  canary::Fault fault = canary::Fault::none;
  std::uint16_t status = 0;
  std::string body;
  friend bool operator==(const Heard&, const Heard&) = default;
};

Heard listen(canary::Protocol protocol, std::string_view bytes, std::size_t piece) {
  base::BlockPool pool;
  base::Rng random(1);
  base::Chain out;
  const auto dialogue = canary::make_dialogue(protocol, {"canary.example.com", "/", "n1", false}, random);
  Dialogue::Step step = dialogue->begin(pool, out);
  while (step == Dialogue::Step::waiting && !bytes.empty()) {
    const std::string_view part = bytes.substr(0, piece);
    step = dialogue->take(pool, pool.copy(part), {}, out);
    bytes.remove_prefix(part.size());
  }
  if (step == Dialogue::Step::waiting) step = dialogue->finished(true);
  if (step == Dialogue::Step::complete) dialogue->part(pool, out);
  EBB_ASSERT(step != Dialogue::Step::waiting);
  EBB_ASSERT((step == Dialogue::Step::failed) == (dialogue->failure().fault != canary::Fault::none));
  EBB_ASSERT(dialogue->answer().body.size() <= Dialogue::body_bytes_max);
  return {step, dialogue->failure().fault, dialogue->answer().status, dialogue->answer().body};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto protocol = static_cast<canary::Protocol>(data[0] % std::size(canary::protocol_names));
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Heard whole = listen(protocol, bytes, SIZE_MAX);
  EBB_ASSERT(whole == listen(protocol, bytes, 1));
  EBB_ASSERT(whole == listen(protocol, bytes, 7));
  return 0;
}
