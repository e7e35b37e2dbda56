#include "sim/trunk.h"

#include <algorithm>

namespace ebb::sim {

namespace {

constexpr std::size_t output_max = 65536;  // frames that wait for room
constexpr std::size_t read_max = 65536;

}  // namespace

Trunk::Trunk(World& world, Role role, std::unique_ptr<Line> below, const H2Manners& manners, Told told)
    : world_(world),
      rng_(world.rng().next()),
      role_(role),
      below_(std::move(below)),
      manners_(manners),
      told_(std::move(told)),
      greets_at_(world.now() + manners.settings_delay) {}

Trunk::~Trunk() {
  if (below_ != nullptr) below_->close();
}

void Trunk::begin() {
  below_->on_change([weak = weak_from_this()] {
    if (const auto trunk = weak.lock()) trunk->soon();
  });
  if (manners_.settings_delay > Duration{})
    world_.after(manners_.settings_delay, [weak = weak_from_this()] {
      if (const auto trunk = weak.lock()) trunk->soon();
    });
  rest();
  soon();
}

void Trunk::soon() {
  if (scheduled_ || over_) return;
  scheduled_ = true;
  world_.after(microseconds{rng_.below(30)}, [weak = weak_from_this()] {
    const auto trunk = weak.lock();
    if (trunk == nullptr) return;
    trunk->scheduled_ = false;
    trunk->work();
  });
}

void Trunk::calm_down() {
  manners_.oddities = manners_.refuses = 0;
  if (below_ != nullptr) below_->calm_down();
}

void Trunk::freeze(bool frozen) {
  frozen_ = frozen;
  if (!frozen) soon();
}

void Trunk::work() {
  if (over_ || frozen_) return;
  const auto self = shared_from_this();  // streams that end may be the last to hold it
  below_->work();
  if (below_->error() != 0) {
    take_all();  // what came before it
    return die(below_->error());
  }
  if (!below_->open()) {
    if (below_->finished()) die(ECONNRESET);
    return;
  }
  greet();
  if (!greeted_) return;
  take_input();
  if (over_) return;
  send_bodies();
  if (!out_.empty()) out_.drop(below_->send(out_.view()));
  if (!out_.empty() && below_->room() > 0) soon();
  if (said_goaway_ && running_.empty() && out_.empty()) linger();
  if (below_->finished()) die(ECONNRESET);
}

// RFC 9113 3.4. The first bytes of each side are its settings.
void Trunk::greet() {
  if (greeted_ || world_.now() < greets_at_) return;
  greeted_ = true;
  if (role_ == Role::client) out_.push(h2_preface);
  std::string settings = setting_text(Setting::window, manners_.window);
  if (role_ == Role::endpoint) {
    settings += setting_text(Setting::streams_max, manners_.streams_max);
    if (manners_.connect_protocol) settings += setting_text(Setting::connect_protocol, 1);
  }
  out_.push(text_of(FrameType::settings, 0, 0, settings));
  const auto all = streams_;
  for (const auto& [id, stream] : all)
    if (stream->changed) stream->changed();
  for (const auto& stream : unborn_)
    if (stream->changed) stream->changed();
}

void Trunk::take_input() {
  in_.push(below_->read(read_max));
  if (below_->readable() > 0) soon();
  if (role_ == Role::endpoint && !preface_seen_) {
    if (in_.size() < h2_preface.size()) return;
    if (in_.pop(h2_preface.size()) != h2_preface) return wrong("no preface");
    preface_seen_ = true;
  }
  bool good = true;
  while (!over_) {
    const std::optional<Frame> frame = take_frame(in_, good);
    if (!good) return wrong("a frame that is too long");
    if (!frame) return;
    take(*frame);
  }
}

void Trunk::take_all() {
  while (!over_) {
    const std::size_t before = in_.size();
    take_input();
    if (over_ || below_->readable() == 0 || in_.size() == before) return;
  }
}

bool Trunk::torn() const {
  return role_ == Role::endpoint && !over_ && (!in_.empty() || !block_.empty() || below_->torn());
}

std::unique_ptr<Line> Trunk::open() {
  auto stream = std::make_shared<Stream>();
  unborn_.push_back(stream);
  rests_ += 1;
  return std::make_unique<StreamLine>(shared_from_this(), std::move(stream));
}

// ---- output ----------------------------------------------------------------------------------------------------

void Trunk::put(FrameType type, std::uint8_t flags, std::uint32_t stream, std::string_view payload) {
  if (oddities_left_ > 0 && rng_.chance(manners_.oddities) && greeted_ &&
      (type == FrameType::data || type == FrameType::window_update)) {
    oddities_left_ -= 1;
    switch (rng_.below(3)) {
      case 0: out_.push(text_of(FrameType::ping, 0, 0, "pingpong")); break;
      case 1: out_.push(text_of(FrameType::unknown, 0x5a, stream, "whatever")); break;
      default: out_.push(text_of(FrameType::settings, 0, 0, setting_text(Setting::window, manners_.window))); break;
    }
  }
  world_.note("put frame", stream, static_cast<std::uint64_t>(type));
  out_.push(text_of(type, flags, stream, payload));
}

void Trunk::send_head(Stream& stream, const HeadFields& fields, bool last) {
  const std::string block = pack(fields);
  const std::uint8_t ends = last ? end_stream : 0;
  stream.ended = last;
  world_.note("send head", stream.id, last ? 1 : 0);
  if (!manners_.splits_heads) return out_.push(text_of(FrameType::headers, ends | end_headers, stream.id, block));
  // Nothing may come between these (RFC 9113 6.10).
  const std::size_t cut = rng_.below(block.size());
  out_.push(text_of(FrameType::headers, ends, stream.id, block.substr(0, cut)));
  out_.push(text_of(FrameType::continuation, end_headers, stream.id, block.substr(cut)));
}

// By turns, so that none waits for the others' ends.
void Trunk::send_bodies() {
  std::vector<std::shared_ptr<Stream>> all;
  for (const auto& [id, stream] : streams_) all.push_back(stream);
  // There may be room for one piece, so that the turns go on where they stopped.
  const auto next = std::ranges::find_if(all, [this](const auto& stream) { return stream->id > last_turn_; });
  std::rotate(all.begin(), next, all.end());
  for (bool more = true; more;) {
    more = false;
    for (const auto& stream : all) {
      if (!send_piece(*stream)) continue;
      last_turn_ = stream->id;
      more = true;
    }
  }
  for (const auto& stream : all) {
    send_end(*stream);
    if (!stream->let_go || !stream->ended) continue;
    if (!stream->whole && role_ == Role::endpoint) {
      put(FrameType::rst_stream, 0, stream->id, number_text(static_cast<std::uint32_t>(H2Error::no_error)));
      running_.erase(stream->id);
    }
    forget(stream->id);
  }
}

bool Trunk::send_piece(Stream& stream) {
  if (!stream.head_sent || stream.ended || stream.error != 0) return false;
  if (stream.body.empty() || out_.size() >= output_max) return false;
  const std::int64_t window = std::min(stream.send_window, send_window_);
  if (window <= 0) return false;
  const std::size_t room = std::min<std::size_t>(manners_.data_max, static_cast<std::size_t>(window));
  const bool pads = manners_.pads && room > 20;
  const std::string piece = stream.body.pop(pads ? room - 20 : room);
  const std::size_t filler = pads ? rng_.below(19) : 0;
  const bool last = stream.ends && stream.body.empty() && rng_.chance(800);
  const std::uint8_t flags = last ? end_stream : 0;
  if (pads) {
    put(FrameType::data, flags | padded, stream.id,
        std::string(1, static_cast<char>(filler)) + piece + std::string(filler, '\0'));
  } else {
    put(FrameType::data, flags, stream.id, piece);
  }
  const auto size = static_cast<std::int64_t>(piece.size() + (pads ? filler + 1 : 0));
  stream.send_window -= size;
  send_window_ -= size;
  stream.ended = last;
  return true;
}

void Trunk::send_end(Stream& stream) {
  if (!stream.head_sent || stream.error != 0) return;
  if (stream.ends && !stream.ended && stream.body.empty()) {
    put(FrameType::data, end_stream, stream.id, {});
    stream.ended = true;
  }
  if (stream.ended && stream.whole) running_.erase(stream.id);
  if (stream.changed && stream.body.size() < output_max / 2) stream.changed();
}

void Trunk::reset_stream(Stream& stream, H2Error error) {
  world_.note("reset stream", stream.id, static_cast<std::uint64_t>(error));
  put(FrameType::rst_stream, 0, stream.id, number_text(static_cast<std::uint32_t>(error)));
  running_.erase(stream.id);
  forget(stream.id);
  soon();
}

void Trunk::consumed(const std::shared_ptr<Stream>& stream, std::size_t bytes) {
  stream->unreported += bytes;
  if (stream->whole || stream->error != 0 || stream->update_scheduled) return;
  if (2 * stream->unreported < manners_.window) return;  // not for each byte
  stream->update_scheduled = true;
  world_.after(manners_.window_delay, [weak = weak_from_this(), stream] {
    stream->update_scheduled = false;
    const auto trunk = weak.lock();
    if (trunk == nullptr || trunk->over_ || stream->whole || stream->error != 0 || stream->let_go) return;
    if (stream->unreported == 0) return;
    stream->receive_window += static_cast<std::int64_t>(stream->unreported);
    trunk->put(FrameType::window_update, 0, stream->id,
               number_text(static_cast<std::uint32_t>(std::exchange(stream->unreported, 0))));
    trunk->soon();
  });
}

// ---- ends ------------------------------------------------------------------------------------------------------

void Trunk::go_away() {
  if (over_ || said_goaway_) return;
  if (!greeted_) return end(End::close);  // nobody has asked it anything
  goaway_id_ = last_id_;
  said_goaway_ = true;
  world_.note("say goaway", below_->number(), goaway_id_);
  put(FrameType::goaway, 0, 0, number_text(goaway_id_) + number_text(0));
  if (told_.goes_away) told_.goes_away();
  soon();
}

// Frames of the router that are still on their way would make a reset of a close, and destroy our last ones.
void Trunk::linger() {
  constexpr Duration patience = seconds{2};
  if (std::exchange(lingers_, true)) return;
  below_->finish();
  world_.after(patience, [weak = weak_from_this()] {
    if (const auto trunk = weak.lock(); trunk != nullptr) trunk->end(End::close);
  });
}

void Trunk::end(End how) {
  if (over_) return;
  world_.note("end trunk", below_->number(), static_cast<std::uint64_t>(how));
  switch (how) {
    case End::close: below_->close(); break;
    case End::drop: below_->drop(); break;
    case End::reset: below_->reset(); break;
  }
  below_ = nullptr;
  die(ECONNRESET);
}

void Trunk::end_by_own_hand(End how) {
  own_hand_ = true;
  end(how);
}

void Trunk::die(int error) {
  if (std::exchange(over_, true)) return;
  const auto self = shared_from_this();
  for (const auto& [id, stream] : std::exchange(streams_, {})) fail_stream(*stream, error, id > goaway_id_);
  for (const auto& stream : std::exchange(unborn_, {})) fail_stream(*stream, error, false);
  running_.clear();
  if (below_ != nullptr) below_->close();
  below_ = nullptr;
  if (told_.ended) told_.ended();
}

void Trunk::fail_stream(Stream& stream, int error, bool unprocessed) {
  // An answer that has come whole is one, whatever comes behind it.
  if (stream.whole && role_ == Role::client) return;
  stream.error = error;
  stream.unprocessed = unprocessed;
  if (stream.changed) stream.changed();
}

void Trunk::forget(std::uint32_t id) {
  streams_.erase(id);
  if (streams_.empty()) rest();
}

// Without streams a client stays for a while, and an endpoint thinks about its habits.
void Trunk::rest() {
  rests_ += 1;
  if (told_.idle) told_.idle();
  if (role_ != Role::client) return;
  world_.after(manners_.keeps, [weak = weak_from_this(), number = rests_] {
    const auto trunk = weak.lock();
    if (trunk != nullptr && trunk->rests_ == number && !trunk->over_ && trunk->streams_.empty() &&
        trunk->unborn_.empty())
      trunk->end(End::close);
  });
}

void Trunk::wrong(const std::string& what) {
  world_.fail("HTTP/2 of the router: " + what);
  die(EPROTO);
}

}  // namespace ebb::sim
