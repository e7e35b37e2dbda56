#include "config/digest.h"

#include <gtest/gtest.h>

namespace ebb::config {
namespace {

std::string digest(std::string_view text) {
  const auto root = parse_document(text, "ebbgate.yaml");
  return root ? digest_of(*root) : root.error().text();
}

constexpr std::string_view base =
    "listeners: [{name: web, bind: \"10.0.0.1:80\"}]\nlimits: {fields: 50, body_bytes: 0}\n";

TEST(Digest, IsOfWhatIsSaidNotOfHow) {
  EXPECT_EQ(digest(base).size(), 16u);
  EXPECT_EQ(digest(base), digest("# a comment\nlimits:\n  body_bytes: 0\n  fields: \"50\"\n\nlisteners:\n"
                                 "  - bind: 10.0.0.1:80\n    name: web\n"));
}

TEST(Digest, DiffersWithEveryValueAndItsPlace) {
  const std::string_view texts[] = {
      "a: [b, c]", "a: [c, b]", "a: [b, [c]]", "a: [[b], c]", "a: [[b, c]]", "a: {b: c}",      "a: {b: {c: d}}",
      "a: b",      "b: a",      "a: ",         "a: []",       "a: {}",       "a: {b: c, d: e}"};
  for (const std::string_view one : texts) {
    for (const std::string_view other : texts) EXPECT_EQ(digest(one) == digest(other), one == other) << one << other;
  }
}

// A replica has its own address, and other replicas than the others have.
TEST(Digest, LeavesOutWhatIsAProcesssOwn) {
  EXPECT_EQ(digest(base),
            digest("listeners: [{name: web, bind: \"10.0.0.2:80\"}]\nlimits: {fields: 50, body_bytes: 0}\n"
                   "admin: 127.0.0.1:9901\nworkers: 4\nio: epoll\nruntime: /run/x\naudit: {every: 1s}\n"
                   "access_log: {format: json}\ncanary: {replicas: [{name: b, host: 10.0.0.1}]}\n"));
  EXPECT_NE(digest("listeners: [{name: web, backend: a}]"), digest("listeners: [{name: web, backend: b}]"));
  EXPECT_NE(digest("routes: [{canary: a}]"), digest("routes: [{canary: b}]")) << "only the section of that name";
}

}  // namespace
}  // namespace ebb::config
