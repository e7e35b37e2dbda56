// Any bytes as a response head: the same answer for every prefix that has one, views inside the input, and what is
// written for the client is read again with the same meaning.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/assert.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"

using namespace ebb;
using wire::Framing;
using wire::Parsed;

namespace {

bool inside(std::string_view view, std::string_view bytes) {
  return view.empty() || (view.data() >= bytes.data() && view.data() + view.size() <= bytes.data() + bytes.size());
}

void check_prefix(std::string_view bytes, wire::Method method, const Parsed& whole, std::size_t size) {
  // A copy of exactly this size, so that the sanitizer sees any read behind its end.
  const std::unique_ptr<char[]> copy(new char[size]);
  std::memcpy(copy.get(), bytes.data(), size);
  static wire::ResponseHead head;
  const Parsed parsed = wire::parse_response({copy.get(), size}, {}, method, head);
  if (parsed.status == Parsed::Status::incomplete) return;
  EBB_ASSERT(parsed.status == whole.status && parsed.cause == whole.cause && parsed.consumed == whole.consumed);
  EBB_ASSERT(std::strcmp(parsed.why, whole.why) == 0);
}

void check_round_trip(const wire::ResponseHead& first, wire::Method method) {
  base::BlockPool pool;
  const bool keep_alive = first.framing != Framing::until_close && first.status != 101;
  const wire::ResponsePlan plan{.keep_alive = keep_alive, .chunked = first.framing == Framing::chunked};
  const wire::HeadLimits limits{.head_bytes = 1 << 20, .fields = 256};
  const base::Slice written = wire::write_response(pool, first, plan);
  static wire::ResponseHead second;
  const Parsed again = wire::parse_response(written.view(), limits, method, second);
  EBB_ASSERT(again.status == Parsed::Status::complete && again.consumed == written.size());
  EBB_ASSERT(second.status == first.status && second.reason == first.reason && second.framing == first.framing);
  EBB_ASSERT(second.has_length == first.has_length && second.upgrade == first.upgrade);
  EBB_ASSERT(second.content_length == first.content_length);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const wire::Method method = data[0] % 2 == 0 ? wire::Method::get : wire::Method::head;
  static wire::ResponseHead head;
  const Parsed whole = wire::parse_response(bytes, {}, method, head);
  if (whole.status == Parsed::Status::complete) {
    EBB_ASSERT(whole.consumed <= bytes.size() && inside(head.reason, bytes) && inside(head.upgrade, bytes));
    for (const wire::Field& field : head.fields.all()) {
      EBB_ASSERT(inside(field.name, bytes) && inside(field.value, bytes) && !field.name.empty());
    }
    check_round_trip(head, method);
  }
  for (std::size_t prefix = 0; prefix <= bytes.size(); ++prefix) check_prefix(bytes, method, whole, prefix);
  return 0;
}
