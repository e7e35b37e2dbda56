// docs/reap.md says what the tables say.
#include <gtest/gtest.h>

#include "config/file.h"
#include "reap/policy_file.h"
#include "reap/truth_file.h"
#include "tests/config/temporary_folder.h"
#include "tests/project_folder.h"

namespace ebb::reap {
namespace {

std::string page() {
  const auto project = project_folder();
  const auto text = config::read_file(project / "docs/reap.md", 1 << 20);
  EXPECT_TRUE(text);
  return text.value_or("");
}

// What is between the marks, from the first `begin` behind `heading` on.
std::string behind(const std::string& text, std::string_view heading, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin, std::min(text.find(heading), text.size()));
  if (from == std::string::npos) return "";
  const std::size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

TEST(ReapReference, PageHasTheKeysOfBothFiles) {
  const std::string written = behind(page(), "", "<!-- keys -->\n", "<!-- end of keys -->");
  const std::string wanted = policy_reference() + truth_reference();
  if (written == wanted) return;
  const std::string file = testing::TempDir() + "ebbgate-reap-keys.md";
  config::write_file(file, wanted);
  ADD_FAILURE() << "docs/reap.md differs from the tables of keys; put the content of " << file << " between its marks";
}

TEST(ReapReference, ExamplesOfThePageLoad) {
  const auto policy = read_policy(behind(page(), "## The policy", "```yaml\n", "```"), "docs/reap.md");
  EXPECT_TRUE(policy) << config::text_of(policy.error());
  const auto truth = read_truth(behind(page(), "## The endpoint file", "```yaml\n", "```"), "docs/reap.md");
  EXPECT_TRUE(truth) << config::text_of(truth.error());
}

}  // namespace
}  // namespace ebb::reap
