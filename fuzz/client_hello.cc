// Any bytes as the beginning of a TLS connection: the same answer for every prefix that has one, a valid name, and the
// same answer again when the message is cut into other records.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/assert.h"
#include "wire/client_hello.h"
#include "wire/host_name.h"

using namespace ebb;
using wire::Parsed;

namespace {

void check_prefix(std::string_view bytes, const Parsed& whole, const wire::ClientHello& expected, std::size_t size) {
  // A copy of exactly this size, so that the sanitizer sees any read behind its end.
  const std::unique_ptr<char[]> copy(new char[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  wire::ClientHello hello;
  const Parsed parsed = wire::parse_client_hello({copy.get(), size}, hello);
  if (parsed.status == Parsed::Status::incomplete) return;
  EBB_ASSERT(parsed.status == whole.status && parsed.cause == whole.cause && parsed.consumed == whole.consumed);
  EBB_ASSERT(std::strcmp(parsed.why, whole.why) == 0 && hello.alert == expected.alert);
  EBB_ASSERT(hello.server_name == expected.server_name && hello.alpn_list == expected.alpn_list);
}

std::string in_records_of(std::size_t piece, std::string_view records) {
  std::string message;
  while (!records.empty()) {
    const std::size_t length = static_cast<std::uint8_t>(records[3]) << 8 | static_cast<std::uint8_t>(records[4]);
    message += records.substr(5, length);
    records.remove_prefix(5 + length);
  }
  std::string cut;
  for (std::size_t at = 0; at < message.size(); at += piece) {
    const std::string part = message.substr(at, piece);
    cut += {'\x16', '\x03', '\x01', static_cast<char>(part.size() >> 8), static_cast<char>(part.size())};
    cut += part;
  }
  return cut;
}

void check_complete(std::string_view records, const wire::ClientHello& expected) {
  EBB_ASSERT(expected.server_name.empty() || wire::normal_name(expected.server_name) == expected.server_name);
  EBB_ASSERT(expected.alert == wire::Alert::none && !expected.offers("") && expected.alpn_list.size() < records.size());
  for (const std::size_t piece : {1, 3, 100}) {
    const std::string cut = in_records_of(piece, records);
    if (cut.size() >= wire::client_hello_bytes_max) continue;
    wire::ClientHello hello;
    const Parsed parsed = wire::parse_client_hello(cut, hello);
    EBB_ASSERT(parsed.status == Parsed::Status::complete && parsed.consumed == cut.size());
    EBB_ASSERT(hello.server_name == expected.server_name && hello.alpn_list == expected.alpn_list);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  wire::ClientHello hello;
  const Parsed whole = wire::parse_client_hello(bytes, hello);
  if (whole.status == Parsed::Status::complete) {
    EBB_ASSERT(whole.consumed <= size);
    check_complete(bytes.substr(0, whole.consumed), hello);
  }
  for (std::size_t prefix = 0; prefix < size; ++prefix) check_prefix(bytes, whole, hello, prefix);
  return 0;
}
