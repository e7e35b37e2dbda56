// docs/configuration.md and examples/ say what the tables say.
#include "config/reference.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "config/file.h"
#include "config/load.h"
#include "tests/config/temporary_folder.h"
#include "tests/project_folder.h"

namespace ebb::config {
namespace {

const std::filesystem::path project = project_folder();
constexpr std::size_t bytes_max = 1 << 20;

std::string page() {
  const auto text = read_file(project / "docs/configuration.md", bytes_max);
  EXPECT_TRUE(text);
  return text.value_or("");
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return "";
  const std::size_t start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

void expect_loads(std::string_view text, const std::string& file) {
  const auto loaded = load_text(text, file);
  EXPECT_TRUE(loaded) << text_of(loaded.error());
}

TEST(Reference, OfTheKeysIsThatOfTheTables) {
  const std::string written = between(page(), "<!-- keys -->\n", "<!-- end of keys -->");
  const std::string wanted = key_reference();
  if (written == wanted) return;
  const std::string file = testing::TempDir() + "ebbgate-keys.md";
  write_file(file, wanted);
  ADD_FAILURE() << "docs/configuration.md differs from the tables in src/config/schema.cc; put the content of " << file
                << " between its marks";
}

TEST(Reference, ExampleLoads) { expect_loads(between(page(), "```yaml\n", "```"), "docs/configuration.md"); }

TEST(Examples, AllLoad) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(project / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    const auto text = read_file(entry.path(), bytes_max);
    ASSERT_TRUE(text) << entry.path();
    expect_loads(*text, entry.path());
    count += 1;
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace ebb::config
