// A router and the canary server behind it, in one: answers as they should, or plays the trick that it is told to.
#pragma once

#include <fmt/format.h>

#include <climits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "canary/fields.h"
#include "reactor/reactor.h"
#include "wire/h2.h"
#include "wire/websocket.h"

namespace ebb::canary {

enum class Trick : std::uint8_t {
  none,
  silent,         // takes the request and says nothing
  reads_nothing,  // and shuts its window
  reset,
  close,
  close_in_body,
  stall_in_body,
  garbage,
  forgets_nonce,
  other_nonce,
  other_body,
  no_body,
};

class StandIn final : public reactor::Handler {
 public:
  explicit StandIn(reactor::Reactor& reactor) : reactor_(reactor) {}

  void listen(const base::Address& address) { listener_ = *reactor_.listen(address, {}); }
  void stop_listening() { reactor_.close_listener(listener_); }

  Trick trick = Trick::none;
  int status = 200;
  std::uint16_t port = 8080;
  std::string pod = "canary-1";
  std::uint64_t generation = 1;
  std::string digest = "old";
  bool keeps = true;                     // connections that may be kept
  int answers_per_connection = INT_MAX;  // of HTTP/1; then it is closed without a word
  bool resets = false;                   // instead of that close
  std::optional<int> second_status;      // of HTTP/1: of all answers on a connection but the first
  bool clings = false;                   // to connections that the peer has finished
  std::uint64_t requests = 0;
  std::uint64_t accepted = 0;

 private:
  struct Guest final : wire::H2Listener {
    StandIn* host = nullptr;
    reactor::SocketId socket;
    std::string input;
    int answers = 0;
    bool switched = false;
    std::unique_ptr<wire::H2Session> h2;

    void on_request(wire::StreamId stream, const wire::RequestHead& head) override {
      host->answer_by_h2(*this, stream, head);
    }
    void on_request_refused(wire::StreamId, base::Cause, const char*) override {}
    void on_response(wire::StreamId, const wire::ResponseHead&) override {}
    void on_payload(wire::StreamId, base::Slice) override {}
    void on_whole(wire::StreamId, std::string_view) override {}
    void on_stream_failed(wire::StreamId, base::Cause, bool) override {}
    void on_stream_drained(wire::StreamId) override {}
    void on_ping_answered() override {}
    void on_going_away() override {}
  };

  void on_accepted(reactor::Owner, reactor::SocketId socket, const base::Address&) override {
    accepted += 1;
    const std::uint32_t number = ++last_guest_;
    Guest& guest = guests_[number];
    guest.host = this;
    guest.socket = socket;
    reactor_.adopt(socket, {0, {number, 1}});
    reactor_.receive(socket, trick == Trick::reads_nothing ? reactor::Receive::paused : reactor::Receive::watchful);
  }
  void on_received(reactor::Owner owner, base::Slice bytes) override {
    const auto found = guests_.find(owner.handle.slot);
    if (found == guests_.end()) return;
    Guest& guest = found->second;
    if (trick == Trick::silent) return;
    if (guest.h2) return take_frames(guest, bytes);
    guest.input += bytes.view();
    if (guest.switched) return echo(guest);
    if (guest.input.starts_with("PRI ")) {
      guest.h2 = std::make_unique<wire::H2Session>(wire::H2Session::Role::server, wire::H2Limits{}, guest);
      return take_frames(guest, reactor_.blocks().copy(std::exchange(guest.input, {})));
    }
    const auto head = std::make_unique<wire::RequestHead>();
    const auto parsed = wire::parse_request(guest.input, {}, *head);
    if (parsed.status != wire::Parsed::Status::complete) return;
    answer(owner.handle.slot, guest, *head);
  }
  void on_peer_finished(reactor::Owner owner) override {
    if (!clings) drop(owner.handle.slot, reactor::CloseMode::flush);
  }
  void on_failed(reactor::Owner owner, const base::Error&) override {
    drop(owner.handle.slot, reactor::CloseMode::reset);
  }
  void on_connected(reactor::Owner) override {}
  void on_drained(reactor::Owner) override {}
  void on_pumped(reactor::Owner, std::uint64_t, bool) override {}
  void on_timer(reactor::Owner) override {}
  void on_round_end() override {}

  void drop(std::uint32_t number, reactor::CloseMode mode) {
    const auto found = guests_.find(number);
    if (found == guests_.end()) return;
    reactor_.close(found->second.socket, mode);
    guests_.erase(found);
  }
  void send(Guest& guest, std::string_view bytes) {
    base::Chain chain;
    chain.push(reactor_.blocks().copy(bytes));
    reactor_.send(guest.socket, std::move(chain));
  }
  std::string body() const {
    return trick == Trick::no_body ? "" : trick == Trick::other_body ? "It works!" : std::string(body_text) + "\n";
  }
  std::string marks(const wire::RequestHead& head) const {
    std::string fields =
        fmt::format("{}: {}\r\n{}: {}\r\n{}: {}\r\n{}: {}\r\n", port_field.written, port, pod_field.written, pod,
                    generation_field.written, generation, configuration_field.written, digest);
    const wire::Field* const nonce = head.fields.find(nonce_field.lower);
    if (nonce == nullptr || trick == Trick::forgets_nonce) return fields;
    const std::string_view value = trick == Trick::other_nonce ? "of-yesterday" : nonce->value;
    return fields + fmt::format("{}: {}\r\n", nonce_field.written, value);
  }

  void answer(std::uint32_t number, Guest& guest, const wire::RequestHead& head) {
    requests += 1;
    guest.answers += 1;
    if (trick == Trick::reset) return drop(number, reactor::CloseMode::reset);
    const bool spent = guest.answers > answers_per_connection;
    if (spent && resets) return drop(number, reactor::CloseMode::reset);
    if (trick == Trick::close || spent) return drop(number, reactor::CloseMode::flush);
    if (trick == Trick::garbage) return send(guest, "220 mail.example.com ESMTP\r\n");
    const wire::Field* const key = head.fields.find("sec-websocket-key");
    const bool closes = (!head.keep_alive || !keeps) && !clings;
    if (key != nullptr && status == 200) {
      const auto accept = wire::websocket_accept(key->value);
      send(guest, fmt::format("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                              "Sec-WebSocket-Accept: {}\r\n{}\r\n",
                              std::string_view(accept.data(), accept.size()), marks(head)));
      guest.switched = true;
      guest.input.clear();
      return;
    }
    const std::string text = fmt::format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n{}{}\r\n{}",
                                         guest.answers > 1 ? second_status.value_or(status) : status, body().size(),
                                         closes ? "Connection: close\r\n" : "", marks(head), body());
    guest.input.clear();
    if (trick == Trick::stall_in_body || trick == Trick::close_in_body) {
      send(guest, std::string_view(text).substr(0, text.size() - 5));
      if (trick == Trick::close_in_body) drop(number, reactor::CloseMode::flush);
      return;
    }
    send(guest, text);
    if (closes) drop(number, reactor::CloseMode::flush);
  }

  // A masked text frame of up to 125 bytes, sent back without its mask.
  void echo(Guest& guest) {
    if (guest.input.size() < 6 || (guest.input[0] & 0x0f) != 1) return;
    const std::size_t size = static_cast<std::uint8_t>(guest.input[1]) & 0x7f;
    if (guest.input.size() < 6 + size) return;
    std::string payload;
    for (std::size_t i = 0; i < size; ++i) payload += static_cast<char>(guest.input[6 + i] ^ guest.input[2 + i % 4]);
    if (trick == Trick::other_body) payload = "It works!";
    guest.input.clear();
    send(guest, fmt::format("\x81{}{}", static_cast<char>(payload.size()), payload));
  }

  void take_frames(Guest& guest, const base::Slice& bytes) {
    guest.h2->receive(bytes, reactor_.now());
    base::Chain frames;
    guest.h2->collect(reactor_.blocks(), frames, 65536);
    if (!frames.empty()) reactor_.send(guest.socket, std::move(frames));
  }
  void answer_by_h2(Guest& guest, wire::StreamId stream, const wire::RequestHead& head) {
    requests += 1;
    if (trick == Trick::reset) return guest.h2->reset(stream, base::Cause::internal);
    const std::string text =
        fmt::format("HTTP/1.1 {} Whatever\r\nContent-Length: {}\r\n{}\r\n", status, body().size(), marks(head));
    const auto answer_head = std::make_unique<wire::ResponseHead>();
    wire::parse_response(text, {}, wire::Method::get, *answer_head);
    guest.h2->respond(stream, *answer_head, body().empty());
    if (body().empty()) return;
    base::Chain payload;
    payload.push(reactor_.blocks().copy(body()));
    guest.h2->send(stream, std::move(payload));
    guest.h2->finish(stream, "");
  }

  reactor::Reactor& reactor_;
  reactor::ListenerId listener_;
  std::map<std::uint32_t, Guest> guests_;
  std::uint32_t last_guest_ = 0;
};

}  // namespace ebb::canary
