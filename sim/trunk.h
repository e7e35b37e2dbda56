// One connection of HTTP/2 as a peer of the router has it: a client's, or an endpoint's. Owned by the
// endpoint, or by the Scenario for a client; it ends by itself.
//
//   trunk.cc         the connection: settings, frames in and out, how it ends
//   trunk_frames.cc  what each frame of the router means, and whether the router may send it
//   stream_line.cc   streams: HTTP/1 on the actor's side, frames on the trunk's
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "sim/frames.h"
#include "sim/line.h"
#include "sim/message.h"

namespace ebb::sim {

// Drawn per connection. All of it is allowed.
struct H2Manners {
  std::uint32_t streams_max = 100;  // an endpoint's
  std::uint32_t window = 65535;     // of a stream
  std::uint32_t data_max = 16384;   // in a frame
  Duration settings_delay{};        // before the endpoint says anything
  Duration window_delay{};          // from reading to WINDOW_UPDATE
  bool connect_protocol = true;
  std::uint32_t oddities = 0;  // per thousand frames: a PING, an unknown frame, new settings before it
  bool pads = false;
  bool splits_heads = false;     // into CONTINUATION
  std::uint32_t refuses = 0;     // per thousand streams of an endpoint: REFUSED_STREAM
  std::uint32_t goes_after = 0;  // so many streams the endpoint says GOAWAY; 0: never
  Duration keeps{};              // itself without streams, as a client
};

struct Stream {
  std::uint32_t id = 0;  // 0: none yet
  // In: frames have become text for the actor.
  ByteQueue in;
  bool whole = false;  // the router's half has ended
  int error = 0;
  bool unprocessed = false;
  bool raw = false;  // a tunnel: bytes as they are
  bool head_seen = false;
  bool bodiless = false;
  bool chunks = false;                  // towards an endpoint's actor
  std::uint64_t expected = UINT64_MAX;  // bytes, as content-length says
  std::uint64_t received = 0;
  std::int64_t receive_window = 0;
  std::uint64_t unreported = 0;  // read, and the window not opened again
  bool update_scheduled = false;
  std::string method;
  // Out: text of the actor has become a head, and payload.
  ByteQueue text;
  MessageReader speech;
  ByteQueue body;
  bool head_sent = false;
  bool ends = false;  // END_STREAM behind the body
  bool ended = false;
  std::int64_t send_window = 0;
  bool let_go = false;  // by its actor
  std::function<void()> changed{};
};

class Trunk final : public std::enable_shared_from_this<Trunk> {
 public:
  enum class Role : std::uint8_t { client, endpoint };
  struct Told {
    std::function<void(std::unique_ptr<Line>)> stream{};    // a new one, at an endpoint
    std::function<void(std::uint64_t exchange)> refused{};  // one, at an endpoint
    std::function<void()> goes_away{};                      // an endpoint: what is on its way is refused
    std::function<void()> ended{};                          // the connection
    std::function<void()> idle{};                           // without streams, at an endpoint
  };

  Trunk(World& world, Role role, std::unique_ptr<Line> below, const H2Manners& manners, Told told);
  ~Trunk();
  void begin();

  std::unique_ptr<Line> open();  // a client's
  bool takes_streams() const { return !over_ && !going_away_ && next_id_ < 1000000; }
  bool idle() const { return streams_.empty(); }
  bool over() const { return over_; }
  std::size_t number() const { return number_; }
  void set_number(std::size_t number) { number_ = number; }

  bool served() const { return last_id_ != 0; }
  void go_away();   // an endpoint's: those that have come are served, no others
  void take_all();  // what has come, as if it had been read
  bool torn() const;
  enum class End : std::uint8_t { close, drop, reset };
  void end(End how);
  void end_by_own_hand(End how);  // in the middle of everything
  void freeze(bool frozen);
  // In the calm phase.
  void calm_down();

 private:
  friend class StreamLine;
  void soon();
  void work();
  void greet();
  void take_input();
  void take(const Frame& frame);
  void take_head(const Frame& frame);
  void take_request(std::uint32_t id, const HeadFields& fields, bool whole);
  void take_response(Stream& stream, const HeadFields& fields, bool whole);
  void take_data(const Frame& frame);
  void take_settings(const Frame& frame);
  void take_goaway(const Frame& frame);
  void take_reset(const Frame& frame);
  void open_window(const Frame& frame);
  void end_of_input(Stream& stream);
  void fail_stream(Stream& stream, int error, bool unprocessed);
  void wrong(const std::string& what);

  void translate(Stream& stream);
  void send_request_head(Stream& stream);
  void send_response_head(Stream& stream);
  void send_head(Stream& stream, const HeadFields& fields, bool last);
  void send_bodies();
  bool send_piece(Stream& stream);
  void send_end(Stream& stream);
  void put(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view payload);
  void reset_stream(Stream& stream, H2Error error);
  void let_go(const std::shared_ptr<Stream>& stream, bool in_order);
  void consumed(const std::shared_ptr<Stream>& stream, std::size_t bytes);
  void forget(std::uint32_t id);
  void rest();
  void linger();
  void die(int error);

  World& world_;
  base::Rng rng_;
  Role role_;
  std::unique_ptr<Line> below_;
  H2Manners manners_;
  Told told_;
  ByteQueue in_;
  ByteQueue out_;
  Unpacker unpacker_;
  std::map<std::uint32_t, std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Stream>> unborn_;  // of a client: no head yet
  std::set<std::uint32_t> running_;              // of an endpoint: neither side has ended it
  std::string block_;                            // of a head, in pieces
  std::uint32_t block_stream_ = 0;
  std::uint8_t block_flags_ = 0;
  std::uint32_t next_id_ = 1;
  std::uint32_t last_turn_ = 0;             // the stream that has sent a piece of its body last
  std::uint32_t last_id_ = 0;               // the router's highest
  std::uint32_t goaway_id_ = UINT32_MAX;    // ours
  std::uint32_t count_ = 0;                 // streams of the router
  std::uint32_t streams_max_ = UINT32_MAX;  // as the router says
  std::int64_t initial_window_ = 65535;     // the same
  std::int64_t send_window_ = 65535;
  std::int64_t receive_window_ = 65535;
  bool router_takes_connect_ = false;
  bool preface_seen_ = false;
  bool greeted_ = false;
  bool settings_seen_ = false;
  bool settings_acknowledged_ = false;
  bool going_away_ = false;
  bool said_goaway_ = false;
  bool lingers_ = false;
  bool over_ = false;
  bool own_hand_ = false;
  bool frozen_ = false;
  bool scheduled_ = false;
  std::uint64_t rests_ = 0;
  std::uint32_t oddities_left_ = 8;  // beyond some they are a flood
  std::size_t number_ = 0;           // as its owner counts
  Instant greets_at_{};
};

class StreamLine final : public Line {
 public:
  StreamLine(std::shared_ptr<Trunk> trunk, std::shared_ptr<Stream> stream)
      : trunk_(std::move(trunk)), stream_(std::move(stream)) {}
  ~StreamLine() override;

  void on_change(std::function<void()> changed) override { stream_->changed = std::move(changed); }
  bool open() const override { return stream_->error == 0 && trunk_->greeted_; }
  int error() const override { return stream_->error; }
  bool finished() const override { return stream_->error == 0 && stream_->whole && stream_->in.empty(); }
  bool finish_seen() const override { return stream_->whole; }
  bool clean() const override { return stream_->whole; }
  bool deserted() const override { return stream_->error != 0 || trunk_->over_ || trunk_->below_->deserted(); }
  std::size_t readable() const override { return stream_->in.size(); }
  std::size_t room() const override;
  std::size_t send(std::string_view bytes) override;
  std::string read(std::size_t most) override;
  void finish() override;
  void close() override { leave(true); }
  void drop() override { leave(false); }
  void reset() override { leave(false); }
  std::uint64_t number() const override { return 1'000'000 + stream_->id; }
  bool is_stream() const override { return true; }
  bool unprocessed() const override { return stream_->unprocessed; }
  bool by_own_hand() const override { return trunk_->own_hand_; }
  bool in_message() const override { return trunk_->below_ != nullptr && trunk_->below_->in_message(); }

 private:
  void leave(bool in_order);

  std::shared_ptr<Trunk> trunk_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace ebb::sim
