#include "reap/policy_file.h"

#include <fmt/format.h>

#include "config/document.h"
#include "config/file.h"
#include "reap/policy_keys.h"

namespace ebb::reap {
namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

template <class Object>
void describe(std::string& text, std::string_view path, config::Keys<Object> keys) {
  const Object defaults{};
  text += path.empty() ? "### Top level\n\n" : fmt::format("### `{}`\n\n", path);
  text += "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const Key<Object>& key : keys) {
    const std::string shown = key.value.show(defaults);
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.name, key.value.type(),
                        shown.empty() ? "" : fmt::format("`{}`", shown), key.meaning);
  }
  text += "\n";
}

}  // namespace

std::expected<Policy, config::Diagnostics> load_policy(const std::string& path) {
  const auto text = config::read_file(path, file_bytes_max);
  if (!text) {
    return std::unexpected(config::Diagnostics{{path, 0, 0, "", text.error(), "give the path of a readable file"}});
  }
  return read_policy(*text, path);
}

std::expected<Policy, config::Diagnostics> read_policy(std::string_view text, const std::string& file) {
  const auto root = config::parse_document(text, file);
  if (!root) return std::unexpected(config::Diagnostics{root.error()});
  Reader reader(file, {.folder = std::filesystem::path(file).parent_path()});
  Policy policy;
  config::read_mapping(reader, *root, config::Keys<Policy>(policy_keys), policy);
  if (reader.failed()) return std::unexpected(reader.take());
  return policy;
}

std::string policy_reference() {
  std::string text;
  describe(text, "", config::Keys<Policy>(policy_keys));
  describe(text, "allow[]", config::Keys<AllowRow>(allow_keys));
  describe(text, "end", config::Keys<Grounds>(end_keys));
  return text;
}

}  // namespace ebb::reap
