// Any bytes as a Cookie field: every pair is part of the field and is read again from its own text, the named cookie is
// gone when it was taken out, and nothing else is.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "wire/cookie.h"

using namespace ebb;

namespace {

std::vector<std::string> texts(std::string_view field, std::string_view left_out) {
  std::vector<std::string> all;
  const std::string_view whole = field;
  wire::CookiePair pair;
  while (wire::take_cookie(field, pair)) {
    EBB_ASSERT(!pair.text.empty() && pair.text.data() >= whole.data());
    EBB_ASSERT(pair.text.data() + pair.text.size() <= whole.data() + whole.size());
    EBB_ASSERT(pair.text.find(';') == std::string_view::npos);
    std::string_view again = pair.text;
    wire::CookiePair same;
    EBB_ASSERT(wire::take_cookie(again, same) && again.empty());
    EBB_ASSERT(same.text == pair.text && same.name == pair.name && same.value == pair.value);
    if (pair.name != left_out) all.emplace_back(pair.text);
  }
  return all;
}

}  // namespace

// The first byte says how long the name is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t name_size = std::min<std::size_t>(data[0] % 8, size - 1);
  const std::string name(reinterpret_cast<const char*>(data) + 1, name_size);
  // A copy of exactly this size, so that the sanitizer sees any read behind its end.
  const std::size_t field_size = size - 1 - name_size;
  const std::unique_ptr<char[]> copy(new char[field_size]);
  std::memcpy(copy.get(), data + 1 + name_size, field_size);
  const std::string_view field(copy.get(), field_size);

  const std::string_view names[] = {name};
  const std::vector<std::string> others = texts(field, name);
  std::string rest;
  if (wire::without_cookies(field, names, rest)) {
    EBB_ASSERT(texts(rest, name) == others);
    std::string nothing;
    EBB_ASSERT(!wire::without_cookies(rest, names, nothing) && nothing.empty());
  } else {
    EBB_ASSERT(rest.empty());
  }
  return 0;
}
