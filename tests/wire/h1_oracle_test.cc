// We, llhttp and Boost.Beast over the same bytes. Every difference must be of a kind listed in oracle_differences.h,
// with its reason, and every kind listed there must occur. No kind allows both to accept and to frame differently.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/rng.h"
#include "wire/h1_corpus.h"
#include "wire/oracle_differences.h"
#include "wire/oracle_verdict.h"

namespace ebb::wire::oracle {
namespace {

using Status = Parsed::Status;

std::string mutate(base::Rng& rng, std::string bytes) {
  using namespace std::string_view_literals;
  constexpr std::string_view spice = "\r\n \t:,;\0\x7f\xff/*0a"sv;
  for (std::uint64_t edits = rng.between(0, 2); edits > 0; --edits) {
    const std::size_t at = rng.below(bytes.size());
    const char byte = rng.chance(700) ? spice[rng.below(spice.size())] : static_cast<char>(rng.next());
    switch (rng.below(3)) {
      case 0: bytes[at] = byte; break;
      case 1: bytes.insert(at, 1, byte); break;
      default:
        if (bytes.size() > 1) bytes.erase(at, 1);
    }
  }
  return bytes;
}

bool same_meaning(const HeadVerdict& a, const HeadVerdict& b) {
  return a.framing == b.framing && a.content_length == b.content_length;
}
bool same_meaning(const BodyVerdict& a, const BodyVerdict& b) {
  return a.payload == b.payload && a.consumed == b.consumed;
}

// The kind that explains the difference, or nullptr.
template <class Verdict>
const Difference* explain(const char* reader, const Verdict& we, const Verdict& they) {
  if (we.status == they.status) return nullptr;
  const Who who = we.status == Status::refused     ? Who::we_refuse
                  : they.status == Status::refused ? Who::they_refuse
                                                   : Who::they_wait;
  const std::string& why = who == Who::we_refuse ? we.why : they.why;
  const auto found = std::ranges::find_if(differences, [&](const Difference& kind) {
    return kind.who == who && why == kind.why && (kind.reader == nullptr || std::string_view(kind.reader) == reader);
  });
  return found == std::end(differences) ? nullptr : &*found;
}

class H1Oracle : public ::testing::Test {
 protected:
  template <class Read>
  void compare(const std::vector<corpus::Sample>& samples, Read read) {
    base::Rng rng(7230);
    for (std::size_t round = 0; round < rounds; ++round) {
      const corpus::Sample& sample = samples[round % samples.size()];
      const std::string bytes = round < samples.size() ? sample.bytes : mutate(rng, sample.bytes);
      const auto we = read(ours(), bytes);
      for (const Reader& reader : {llhttp(), beast()}) {
        const auto they = read(reader, bytes);
        if (we.status == they.status && (we.status != Status::complete || same_meaning(we, they))) continue;
        const Difference* kind = explain(reader.name, we, they);
        ASSERT_NE(kind, nullptr) << reader.name << ": " << testing::PrintToString(bytes)
                                 << "\n  we:   " << static_cast<int>(we.status) << ' ' << we.why
                                 << "\n  they: " << static_cast<int>(they.status) << ' ' << they.why;
        seen().insert(kind);
      }
    }
  }

  static std::set<const Difference*>& seen() {
    static std::set<const Difference*> kinds;
    return kinds;
  }
  static constexpr std::size_t rounds = 30000;
};

TEST_F(H1Oracle, DiffersForListedReasonsOnly) {
  compare(corpus::requests(), [](const Reader& reader, const std::string& bytes) { return reader.request(bytes); });
  compare(corpus::responses(), [](const Reader& reader, const std::string& bytes) { return reader.response(bytes); });
  compare(corpus::chunked(), [](const Reader& reader, const std::string& bytes) { return reader.chunked(bytes); });
  for (const Difference& kind : differences) {
    EXPECT_TRUE(seen().contains(&kind)) << "listed, but does not occur: " << kind.why << " (" << kind.reason << ")";
  }
}

}  // namespace
}  // namespace ebb::wire::oracle
