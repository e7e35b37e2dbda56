// Any bytes to a session, in pieces, while a listener answers from inside the calls. The first byte chooses the role,
// the second the size of the pieces and what the listener does. No crash; nothing is told of a stream that is over or
// after a failure; what is told is well-formed; unread payload stays within the window.
#include <cstdlib>
#include <map>
#include <string>

#include "base/assert.h"
#include "wire/h1_field.h"
#include "wire/h2.h"

using namespace ebb;
using wire::StreamId;

namespace {

constexpr std::string_view preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

class Watcher final : public wire::H2Listener {
 public:
  Watcher(wire::H2Session::Role role, std::uint8_t habits, base::BlockPool& pool)
      : session(role, limits(), *this), habits_(habits), pool_(pool) {}

  static wire::H2Limits limits() { return {.head = {.head_bytes = 2048, .target_bytes = 256, .fields = 16}}; }

  void on_request(StreamId stream, const wire::RequestHead& head) override {
    expect_told();
    EBB_ASSERT(live_.emplace(stream, 0).second);
    EBB_ASSERT(wire::valid_authority(head.authority) && wire::is_token(head.method_text));
    EBB_ASSERT(head.path == "*" || head.path.starts_with('/'));
    EBB_ASSERT(head.framing != wire::Framing::until_close);
    EBB_ASSERT((head.method == wire::Method::connect) == !head.upgrade.empty());
    check(head.fields);
    if (head.framing == wire::Framing::none) whole_[stream] = true;
    act(stream);
  }
  void on_request_refused(StreamId stream, base::Cause cause, const char*) override {
    expect_told();
    EBB_ASSERT(!live_.contains(stream) && base::facts(cause).status >= 400);
    static wire::ResponseHead head;
    head.status = static_cast<std::uint16_t>(base::facts(cause).status);
    session.respond(stream, head, true);
  }
  void on_response(StreamId stream, const wire::ResponseHead& head) override {
    expect_live(stream);
    EBB_ASSERT(head.status >= 100 && head.status <= 999 && head.status != 101);
    check(head.fields);
    if (head.framing == wire::Framing::none && !head.interim()) whole_[stream] = true;
    act(stream);
  }
  void on_payload(StreamId stream, base::Slice bytes) override {
    expect_live(stream);
    EBB_ASSERT(!bytes.empty() && !whole_[stream]);
    live_[stream] += bytes.size();
    EBB_ASSERT(live_[stream] <= limits().stream_window);
    if ((habits_ & 1) != 0) {
      session.consumed(stream, live_[stream]);
      live_[stream] = 0;
    }
    if ((habits_ & 2) != 0) {
      base::Chain echo;
      echo.push(std::move(bytes));
      session.send(stream, std::move(echo));
    }
    if ((habits_ & 12) == 12) drop(stream);
  }
  void on_whole(StreamId stream, std::string_view trailers) override {
    expect_live(stream);
    EBB_ASSERT(!whole_[stream]);
    EBB_ASSERT(trailers.empty() || trailers.ends_with("\r\n"));
    whole_[stream] = true;
    session.finish(stream, trailers);
  }
  void on_stream_failed(StreamId stream, base::Cause cause, bool unprocessed) override {
    expect_live(stream);
    EBB_ASSERT(!unprocessed || base::facts(cause).fault != base::Side::client);
    live_.erase(stream);
    if ((habits_ & 16) != 0) ask();
  }
  void on_stream_drained(StreamId stream) override { EBB_ASSERT(live_.contains(stream)); }
  void on_ping_answered() override { expect_told(); }
  void on_going_away() override { EBB_ASSERT(!session.may_open()); }

  void ask() {
    static wire::RequestHead head;
    head.method_text = "POST";
    head.authority = "a.example";
    head.path = "/";
    head.framing = wire::Framing::chunked;
    const StreamId stream = session.request(head, "http", (habits_ & 32) != 0);
    if (stream != 0) live_.emplace(stream, 0);
  }
  void collect() {
    base::Chain out;
    session.collect(pool_, out, (habits_ & 64) != 0 ? 20 : 100000);
  }

  wire::H2Session session;
  bool failed = false;

 private:
  void expect_told() const { EBB_ASSERT(!failed); }
  void expect_live(StreamId stream) const { EBB_ASSERT(!failed && live_.contains(stream)); }
  static void check(const wire::Fields& fields) {
    for (const wire::Field& field : fields.all()) {
      EBB_ASSERT(wire::is_token(field.name) && wire::is_field_value(field.value));
      EBB_ASSERT(field.id != wire::FieldId::transfer_encoding && field.id != wire::FieldId::connection);
    }
  }
  void drop(StreamId stream) {
    session.reset(stream, base::Cause::internal);
    live_.erase(stream);
  }
  void act(StreamId stream) {
    if ((habits_ & 12) == 4) return drop(stream);
    static wire::ResponseHead head;
    head.status = 200;
    session.respond(stream, head, (habits_ & 12) == 8);
  }

  std::uint8_t habits_;
  base::BlockPool& pool_;
  std::map<StreamId, std::size_t> live_;  // and what of it was not consumed
  std::map<StreamId, bool> whole_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const bool server = (data[0] & 1) == 0;
  const std::size_t piece = (data[0] & 2) != 0 ? 1 : std::size_t{data[0]} * 16 + 1;
  base::BlockPool pool;
  Watcher watcher(server ? wire::H2Session::Role::server : wire::H2Session::Role::client, data[1], pool);
  if (!server) {
    for (int i = 0; i < 4; ++i) watcher.ask();
  }
  watcher.collect();
  // A byte less to find out: the preface is always right.
  std::string bytes = server ? std::string(preface) : std::string();
  bytes.append(reinterpret_cast<const char*>(data) + 2, size - 2);
  base::Instant now{};
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const base::Slice slice = pool.copy(std::string_view(bytes).substr(at, piece));
    if (watcher.session.receive(slice, now) == wire::H2Session::Status::failed) {
      watcher.failed = true;
      EBB_ASSERT(*watcher.session.why() != '\0' && watcher.session.cause() != base::Cause::completed);
      EBB_ASSERT(watcher.session.cause() != base::Cause::internal);
    }
    watcher.collect();
    now += std::chrono::milliseconds{1};
  }
  return 0;
}
