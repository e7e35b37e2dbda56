// Any bytes as a request head: the same answer for every prefix that has one, views inside the input, and what is
// written for the backend is read again with the same meaning and written again to the same bytes.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/assert.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"

using namespace ebb;
using wire::Parsed;

namespace {

bool inside(std::string_view view, std::string_view bytes) {
  return view.empty() || (view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size());
}

void check_views(const wire::RequestHead& head, std::string_view bytes) {
  EBB_ASSERT(inside(head.method_text, bytes) && inside(head.target, bytes) && inside(head.authority, bytes));
  EBB_ASSERT(inside(head.path, bytes) || head.path == "*");  // OPTIONS in absolute form
  EBB_ASSERT(inside(head.upgrade, bytes));
  for (const wire::Field& field : head.fields.all()) {
    EBB_ASSERT(inside(field.name, bytes) && inside(field.value, bytes) && !field.name.empty());
  }
}

void check_prefix(std::string_view bytes, const wire::HeadLimits& limits, const Parsed& whole, std::size_t size) {
  // A copy of exactly this size, so that the sanitizer sees any read behind its end.
  const std::unique_ptr<char[]> copy(new char[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  static wire::RequestHead head;
  const Parsed parsed = wire::parse_request({copy.get(), size}, limits, head);
  if (parsed.status == Parsed::Status::incomplete) return;
  EBB_ASSERT(parsed.status == whole.status && parsed.cause == whole.cause && parsed.consumed == whole.consumed);
  EBB_ASSERT(std::strcmp(parsed.why, whole.why) == 0);
}

void check_round_trip(const wire::RequestHead& first) {
  if (first.authority.empty()) return;  // HTTP/1.0 without Host: RFC 9112 3.2 has us send an empty one
  base::BlockPool pool;
  const wire::Forwarding forwarding{.client_host = "::1", .scheme = "https", .port = 443};
  const wire::HeadLimits limits{.head_bytes = 1 << 20, .target_bytes = 1 << 20, .fields = 256};
  const wire::WrittenRequest head = wire::write_request(pool, first, forwarding);
  const base::Slice& written = head.text();
  static wire::RequestHead second;
  const Parsed again = wire::parse_request(written.view(), limits, second);
  EBB_ASSERT(again.status == Parsed::Status::complete && again.consumed == written.size());
  EBB_ASSERT(second.method_text == first.method_text && second.path == first.path);
  EBB_ASSERT(second.authority == first.authority && second.framing == first.framing);
  EBB_ASSERT(second.content_length == first.content_length && second.upgrade == first.upgrade);
  EBB_ASSERT(second.te_trailers == first.te_trailers && second.expect_continue == first.expect_continue);
  EBB_ASSERT(second.keep_alive);
  std::string lines;
  head.each_line([&lines](wire::LineKind, const wire::Field& line) {
    lines.append(line.name).append(": ").append(line.value).append("\r\n");
  });
  EBB_ASSERT(written.view().ends_with(lines + "\r\n"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  // The first byte chooses the limits; room for the fields that the writer adds is left.
  const wire::HeadLimits limits =
      data[0] < 200
          ? wire::HeadLimits{}
          : wire::HeadLimits{.head_bytes = data[0] - 150u, .target_bytes = data[0] % 16u, .fields = data[0] % 5u};
  static wire::RequestHead head;
  const Parsed whole = wire::parse_request(bytes, limits, head);
  if (whole.status == Parsed::Status::complete) {
    EBB_ASSERT(whole.consumed <= bytes.size());
    check_views(head, bytes);
    check_round_trip(head);
  }
  for (std::size_t prefix = 0; prefix <= bytes.size(); ++prefix) check_prefix(bytes, limits, whole, prefix);
  return 0;
}
