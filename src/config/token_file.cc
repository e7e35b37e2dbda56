#include "config/token_file.h"

#include <algorithm>

#include "config/file.h"

namespace ebb::config {
namespace {

constexpr std::size_t token_bytes_min = 16;
constexpr std::size_t token_bytes_max = 4096;

}  // namespace

std::expected<std::string, std::string> read_token(const std::string& path) {
  auto text = read_file(path, token_bytes_max + 1);
  if (!text) return std::unexpected(path + ": " + text.error() + "; put the token there and let this process read it");
  if (text->size() > token_bytes_max)
    return std::unexpected(path + ": a token has at most 4096 characters; shorten it");
  constexpr std::string_view space = " \t\r\n";
  text->erase(0, std::min(text->find_first_not_of(space), text->size()));
  text->erase(text->find_last_not_of(space) + 1);
  const bool visible = std::ranges::all_of(*text, [](char byte) { return byte > ' ' && byte <= '~'; });
  if (text->size() >= token_bytes_min && visible) return *text;
  return std::unexpected(path + ": a token has 16 or more visible characters; `openssl rand -hex 32` makes one");
}

}  // namespace ebb::config
