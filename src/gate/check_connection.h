// One active check under way: a connection of its own, made as the backend's are (PROXY header, TLS, HTTP/1 or HTTP/2),
// and one small request. Nothing of it is an exchange: no route, no log line, no place in a pool.
//
// Before: gate/checks, which owns it and is told how it ended. Next: the reactor.
#pragma once

#include <memory>
#include <optional>

#include "gate/check_facts.h"
#include "gate/core.h"
#include "gate/transport.h"
#include "wire/h2.h"

namespace ebb::gate {

// What the checks of one backend are.
struct CheckTarget {
  routes::HealthModel model;
  base::Label backend = 0;
  std::shared_ptr<const wire::ClientContext> tls;  // null: plain
  std::string tls_name;
  routes::BackendProtocol protocol = routes::BackendProtocol::http1;
  routes::ProxyProtocol proxy_protocol = routes::ProxyProtocol::off;

  lifecycle::CheckPlan plan() const { return {model.every, model.fall, model.rise}; }
};

// Null: the backend has no checks.
std::shared_ptr<const CheckTarget> check_target(const LocalSnapshot& snapshot, std::uint32_t backend);

class CheckConnection final : public wire::H2Listener {
 public:
  CheckConnection(Core& core, std::shared_ptr<const CheckTarget> target, const base::Address& endpoint);
  ~CheckConnection() override;
  CheckConnection(const CheckConnection&) = delete;
  CheckConnection& operator=(const CheckConnection&) = delete;

  // The result, as soon as there is one; the connection is then of no more use.
  using Ending = std::optional<CheckResult>;
  Ending open(base::Owner owner);
  Ending on_connected();
  Ending on_received(base::Slice bytes);
  Ending on_peer_finished();
  Ending on_failed(base::Cause cause);
  CheckResult on_timeout() const;
  reactor::SocketId socket() const { return transport_.socket; }

 private:
  enum class Stage : std::uint8_t { connecting, securing, asking };

  Ending begin_asking();
  Ending take_cipher(base::Slice bytes);
  Ending take_plain(base::Slice bytes);
  Ending read_head();
  void ask_by_h2();
  void send_frames();
  void send(base::Chain&& plain);
  std::string request_text() const;
  CheckResult judged(std::uint16_t status);

  void on_response(wire::StreamId stream, const wire::ResponseHead& head) override;
  void on_payload(wire::StreamId stream, base::Slice bytes) override;
  void on_stream_failed(wire::StreamId stream, base::Cause cause, bool unprocessed) override;
  void on_whole(wire::StreamId, std::string_view) override {}
  void on_stream_drained(wire::StreamId) override {}
  void on_ping_answered() override {}
  void on_going_away() override {}
  void on_request(wire::StreamId, const wire::RequestHead&) override {}
  void on_request_refused(wire::StreamId, base::Cause, const char*) override {}

  Core& core_;
  std::shared_ptr<const CheckTarget> target_;
  base::Address address_;
  Transport transport_;
  Stage stage_ = Stage::connecting;
  std::unique_ptr<wire::H2Session> h2_;
  base::Chain input_;  // HTTP/1: a partial head
  Ending ending_;      // HTTP/2: what the frames have said
  bool answered_ = false;
};

}  // namespace ebb::gate
