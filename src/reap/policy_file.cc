#include "reap/policy_file.h"

#include "config/document.h"
#include "config/file.h"
#include "reap/key_tables.h"
#include "reap/policy_keys.h"

namespace ebb::reap {
namespace {

constexpr std::size_t policy_bytes_max = std::size_t{1} << 20;

}  // namespace

std::expected<Policy, config::Diagnostics> load_policy(const std::string& path) {
  const auto text = config::read_file(path, policy_bytes_max);
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
  return key_table("Top level of the policy file", config::Keys<Policy>(policy_keys)) +
         key_table("`allow[]`", config::Keys<AllowRow>(allow_keys)) +
         key_table("`end`", config::Keys<Grounds>(end_keys)) +
         key_table("`nodes`", config::Keys<NodePolicy>(nodes_keys)) +
         key_table("`arm`", config::Keys<ArmLimits>(arm_keys));
}

}  // namespace ebb::reap
