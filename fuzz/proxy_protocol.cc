// Any bytes as a PROXY protocol header: the same answer for every prefix that has one, and addresses that were read are
// written in either version and read again.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "wire/proxy_protocol.h"

using namespace ebb;
using wire::Parsed;

namespace {

bool same(const wire::ProxyHeader& a, const wire::ProxyHeader& b) {
  return a.source == b.source && a.destination == b.destination;
}

void check_prefix(std::string_view bytes, const Parsed& whole, const wire::ProxyHeader& expected, std::size_t size) {
  // A copy of exactly this size, so that the sanitizer sees any read behind its end.
  const std::unique_ptr<char[]> copy(new char[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  wire::ProxyHeader header;
  const Parsed parsed = wire::parse_proxy_header({copy.get(), size}, header);
  if (parsed.status == Parsed::Status::incomplete) return;
  EBB_ASSERT(parsed.status == whole.status && parsed.cause == whole.cause && parsed.consumed == whole.consumed);
  EBB_ASSERT(std::strcmp(parsed.why, whole.why) == 0 && same(header, expected));
}

void check_round_trip(wire::ProxyVersion version, const wire::ProxyHeader& first) {
  base::BlockPool pool;
  const base::Slice written = wire::write_proxy_header(pool, version, first);
  wire::ProxyHeader second;
  const Parsed again = wire::parse_proxy_header(written.view(), second);
  EBB_ASSERT(again.status == Parsed::Status::complete && again.consumed == written.size() && same(first, second));
  EBB_ASSERT(second.datagram == first.datagram);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  wire::ProxyHeader header;
  const Parsed whole = wire::parse_proxy_header(bytes, header);
  EBB_ASSERT(header.source.valid() == header.destination.valid());
  if (whole.status == Parsed::Status::complete) {
    EBB_ASSERT(whole.consumed <= size && whole.consumed <= wire::proxy_header_bytes_max);
    check_round_trip(wire::ProxyVersion::v2, header);
    if (!header.datagram) check_round_trip(wire::ProxyVersion::v1, header);
  }
  for (std::size_t prefix = 0; prefix < size; ++prefix) check_prefix(bytes, whole, header, prefix);
  return 0;
}
