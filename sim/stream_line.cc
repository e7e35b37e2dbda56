// A stream as a line: the actor speaks and hears HTTP/1, so that all its habits fit; the trunk speaks frames.
#include <charconv>

#include "sim/trunk.h"

namespace ebb::sim {

namespace {

constexpr std::size_t waits_max = 32768;  // of a stream's text, for its windows

// Each breaks a rule of RFC 9113 section 8, or names nobody.
HeadFields malformed_head(std::uint64_t number, HeadFields fields) {
  switch (number % 8) {
    case 0: fields.emplace_back("X-Upper", "case"); break;
    case 1: fields.emplace_back("connection", "close"); break;
    case 2: std::erase_if(fields, [](const auto& field) { return field.first == ":path"; }); break;
    case 3: fields.insert(fields.begin(), {":path", "/x/2"}); break;
    case 4: fields.emplace_back("two words", "in a name"); break;
    case 5: fields.emplace_back("te", "gzip"); break;
    case 6: fields.emplace_back(":scheme", "http"); break;
    default:
      for (auto& [name, value] : fields)
        if (name == ":authority") value = "nowhere.test";
  }
  return fields;
}

HeadFields fields_of(const MessageReader& speech) {
  HeadFields fields;
  for (const auto& [name, value] : speech.fields()) {
    const bool hop = name == "connection" || name == "transfer-encoding" || name == "upgrade" || name == "host" ||
                     name == "x-sim-malformed";
    if (!hop) fields.emplace_back(name, value);
  }
  return fields;
}

}  // namespace

// ---- for the actor ---------------------------------------------------------------------------------------------

StreamLine::~StreamLine() {
  if (!stream_->let_go) leave(false);
}

std::size_t StreamLine::room() const {
  const std::size_t waits = stream_->body.size() + stream_->text.size();
  return stream_->error != 0 || waits >= waits_max ? 0 : waits_max - waits;
}

std::size_t StreamLine::send(std::string_view bytes) {
  const std::string_view taken = bytes.substr(0, room());
  stream_->text.push(taken);
  trunk_->translate(*stream_);
  trunk_->soon();
  return taken.size();
}

std::string StreamLine::read(std::size_t most) {
  const std::string bytes = stream_->in.pop(most);
  if (!bytes.empty()) trunk_->consumed(stream_, bytes.size());
  return bytes;
}

void StreamLine::finish() {
  if (!std::exchange(stream_->ends, true)) trunk_->soon();
}

void StreamLine::leave(bool in_order) {
  stream_->changed = nullptr;
  if (std::exchange(stream_->let_go, true)) return;
  trunk_->let_go(stream_, in_order);
}

// ---- for the trunk ---------------------------------------------------------------------------------------------

void Trunk::let_go(const std::shared_ptr<Stream>& stream, bool in_order) {
  std::erase(unborn_, stream);
  if (over_ || stream->error != 0 || !streams_.contains(stream->id)) {
    if (!over_ && streams_.empty() && unborn_.empty()) rest();
    return;
  }
  if (stream->ended && stream->whole) {
    running_.erase(stream->id);
    return forget(stream->id);
  }
  if (role_ == Role::client) return reset_stream(*stream, H2Error::cancel);
  stream->speech.peer_finished();
  stream->ends = stream->ends || stream->speech.state() == MessageReader::State::complete || stream->raw;
  if (!in_order || !stream->head_sent || !stream->ends) return reset_stream(*stream, H2Error::internal);
  soon();  // the rest goes out by itself
}

void Trunk::translate(Stream& stream) {
  for (;;) {
    if (stream.head_sent && stream.raw) {
      stream.body.push(stream.text.pop(stream.text.size()));
      return;
    }
    stream.speech.feed(stream.text);
    if (stream.speech.state() == MessageReader::State::head_complete) {
      role_ == Role::client ? send_request_head(stream) : send_response_head(stream);
      continue;
    }
    stream.body.push(stream.speech.take_body());
    if (stream.speech.state() == MessageReader::State::complete && !stream.raw) stream.ends = true;
    return;
  }
}

void Trunk::send_request_head(Stream& stream) {
  const MessageReader& speech = stream.speech;
  const std::string& line = speech.first_line();
  const std::size_t space = line.find(' ');
  stream.method = line.substr(0, space);
  const std::string path = line.substr(space + 1, line.rfind(' ') - space - 1);
  stream.raw = !speech.field("upgrade").empty();
  HeadFields fields{{":method", stream.raw ? "CONNECT" : stream.method},
                    {":scheme", below_->secure() ? "https" : "http"},
                    {":authority", std::string(speech.field("host"))},
                    {":path", path}};
  if (stream.raw) fields.emplace_back(":protocol", speech.field("upgrade"));
  for (auto& field : fields_of(speech)) fields.push_back(std::move(field));
  if (const std::string_view number = speech.field("x-sim-malformed"); !number.empty()) {
    std::uint64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    fields = malformed_head(value, std::move(fields));
  }
  const auto [kind, length] = speech.framing(BodyKind::none);
  stream.speech.start_body(kind, length);
  std::shared_ptr<Stream> own;
  for (const auto& one : unborn_)
    if (one.get() == &stream) own = one;
  std::erase(unborn_, own);
  stream.id = next_id_;
  next_id_ += 2;
  stream.send_window = initial_window_;
  stream.receive_window = manners_.window;
  stream.head_sent = true;
  streams_.emplace(stream.id, own);
  const bool last = stream.speech.state() == MessageReader::State::complete && !stream.raw;
  send_head(stream, fields, last);
}

void Trunk::send_response_head(Stream& stream) {
  const MessageReader& speech = stream.speech;
  const std::string status = speech.first_line().substr(9, 3);
  const bool interim = status.starts_with('1') && status != "101";
  const bool switches = status == "101";
  HeadFields fields{{":status", switches ? "200" : status}};
  for (auto& field : fields_of(speech)) fields.push_back(std::move(field));
  if (interim) {
    const bool ended = stream.ended;
    send_head(stream, fields, false);
    stream.ended = ended;
    return stream.speech.next();
  }
  const bool bodiless = stream.method == "HEAD" || status == "204" || status == "304" || switches;
  const auto [kind, length] = speech.framing(BodyKind::until_close);
  stream.speech.start_body(bodiless ? BodyKind::none : kind, bodiless ? 0 : length);
  stream.raw = switches;
  stream.head_sent = true;
  const bool last = stream.speech.state() == MessageReader::State::complete && !switches;
  send_head(stream, fields, last);
  stream.ends = stream.ends || last;
}

}  // namespace ebb::sim
