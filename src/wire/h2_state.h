// What an H2Session holds. nghttp2 keeps the protocol's own state; here is what it does not know: the payload that
// waits, what was told to the listener, and what the peer has spent.
//
//   H2Session ─ owns ─ State ─ owns ─ nghttp2_session
//                        └─ owns ─ Stream (from its head until both halves are complete, or its failure or reset)
//
// A Stream is found by its id, never kept over a call of the listener, which may reset it.
#pragma once

#include <nghttp2/nghttp2.h>

#include <boost/unordered/unordered_flat_map.hpp>
#include <memory>
#include <string>
#include <vector>

#include "base/list.h"
#include "wire/h2.h"
#include "wire/h2_block.h"
#include "wire/h2_budget.h"
#include "wire/h2_frame_scan.h"
#include "wire/h2_history.h"
#include "wire/h2_memory.h"

namespace ebb::wire {

// In the list while payload waits.
struct H2Stream : base::ListNode<> {
  static void* operator new(std::size_t bytes);
  static void operator delete(void* stream) { FreePieces::of_this_thread().give_back(stream); }

  enum class Inbound : std::uint8_t {
    head,       // client: the final head is missing
    body,       // its end will be reported
    told,       // the listener knows everything
    discarded,  // input is dropped without reports; the stream ends with our half
  };
  enum class Outbound : std::uint8_t {
    head,       // server: the final head is missing
    open,       // accepts payload
    finishing,  // END_STREAM follows the waiting payload
    ended,      // END_STREAM was sent
  };

  StreamId id = 0;
  Inbound inbound = Inbound::body;
  Outbound outbound = Outbound::head;
  Method method = Method::other;  // client: of the request
  bool deferred = false;          // nghttp2 asked for payload and got none
  bool held_back = false;         // payload was left over at the end of a collect()
  std::size_t unread = 0;         // reported, not consumed
  base::Chain payload;
  base::Instant moved{};  // when bytes last left
  std::string trailers;

  bool over() const { return inbound == Inbound::told && outbound == Outbound::ended; }
};

struct NghttpDeleter {
  void operator()(nghttp2_session* session) const { nghttp2_session_del(session); }
};
using NghttpSession = std::unique_ptr<nghttp2_session, NghttpDeleter>;

struct H2Session::State {
  State(Role role_of_us, const H2Limits& limits_given, H2Listener& listener_given);

  bool is_open() const { return status == Status::open; }
  // Ends the connection with a GOAWAY; the listener gets no more reports.
  void fail(base::Cause because, const char* words, std::uint32_t code);
  void fail_flood(const char* words);
  base::Cause protocol_error() const;
  void spend(const char* overspent);  // nullptr, or a budget: then fails

  H2Stream* find(StreamId id);
  H2Stream& open_stream(StreamId id);
  void drop(H2Stream& stream);  // returns unread bytes to the connection's window
  void discard_rest(H2Stream& stream);
  void reset_stream(H2Stream& stream, std::uint32_t code);
  void fail_stream(H2Stream& stream, base::Cause because, bool unprocessed);

  // h2_session.cc
  struct Admission {
    std::size_t size = 0;             // bytes up to the end of the offending frame header
    const char* overspent = nullptr;  // the exceeded budget
    const char* broken = nullptr;     // or the broken rule,
    std::uint32_t code = 0;           // and its error code
  };
  Admission admit(std::string_view bytes);
  void find_broken_rule(const FrameHeader& header, Admission& admission);
  void feed(const base::Slice& bytes);

  // h2_callbacks.cc: nghttp2 calls these; they lead to the functions below
  struct Callbacks;
  NghttpSession make_session();
  nghttp2_data_provider payload_provider();

  // h2_events.cc: what nghttp2 has read
  int result() const { return is_open() ? 0 : NGHTTP2_ERR_CALLBACK_FAILURE; }
  void block_whole(const nghttp2_frame& frame);
  void request_whole(StreamId id, bool ends_stream);
  void response_whole(H2Stream& stream, bool ends_stream);
  void trailers_whole(H2Stream& stream);
  void payload_came(StreamId id, const char* at, std::size_t size);
  void payload_whole(const nghttp2_frame& frame);
  void reset_came(const nghttp2_frame& frame);
  void goaway_came(StreamId last);
  void frame_came(const nghttp2_frame& frame);
  void stream_closed(StreamId id, std::uint32_t code);

  // h2_output.cc: what nghttp2 writes
  void take_control_frames();
  ssize_t offer_payload(StreamId id, std::size_t size_max, std::uint32_t& flags);
  int take_payload(StreamId id, std::string_view frame_header, std::size_t size);
  void frame_left(const nghttp2_frame& frame);
  void request_not_sent(StreamId id);
  void head_submitted(const nghttp2_nv* pairs, std::size_t count);
  void head_gone(const nghttp2_headers& head);
  void wake(H2Stream& stream);
  void note_held_back();

  Role role;
  Status status = Status::open;
  H2Limits limits;
  H2Listener& listener;
  base::Cause cause = base::Cause::none;
  std::string why;

  boost::unordered_flat_map<StreamId, std::unique_ptr<H2Stream>> streams;
  base::List<H2Stream> waiting;  // with payload

  H2Budget budget;
  FrameScan scan;
  H2History history;  // server
  HeaderBlock block;
  base::Instant now{};
  const base::Slice* received = nullptr;  // during feed()

  struct Output {
    base::BlockPool* pool = nullptr;
    base::Chain* chain = nullptr;
    std::size_t room = 0;
    base::Instant now{};
  };
  Output output;                  // during collect()
  std::string control_frames;     // written before collect()
  std::vector<StreamId> drained;  // to report at the end of collect()
  std::size_t requests_unsent = 0;
  std::size_t heads_held = 0;  // memory of heads that nghttp2 has not written yet, including those of reset streams
  std::uint32_t pings_unanswered = 0;
  bool settings_came = false;
  bool peer_going_away = false;
  bool we_go_away = false;
  StreamId last_taken = 0;  // server: the last stream whose head has come whole

  NghttpSession session;
};

}  // namespace ebb::wire
