#include "gate/check_connection.h"

#include <algorithm>

#include "base/literal_address.h"
#include "gate/gather.h"
#include "wire/proxy_protocol.h"

namespace ebb::gate {

using base::Cause;
using base::Chain;
using base::Slice;
using reactor::CloseMode;
using wire::Parsed;

namespace {

// One answer is all that is wanted; what it says beyond its head is not read.
constexpr std::uint32_t h2_window = std::uint32_t{64} << 10;
constexpr std::size_t h2_output_max = std::size_t{64} << 10;

}  // namespace

std::shared_ptr<const CheckTarget> check_target(const LocalSnapshot& snapshot, std::uint32_t index) {
  const routes::Backend& backend = snapshot.snapshot().backends()[index];
  if (!backend.model.health) return nullptr;
  auto target = std::make_shared<CheckTarget>();
  target->model = *backend.model.health;
  target->backend = backend.label;
  // Another port is another server: it need not speak what the endpoint speaks.
  if (target->model.port > 0) return target;
  target->tls = snapshot.backend_tls(index);
  if (backend.model.tls) target->tls_name = base::as_authority(backend.model.tls->name);
  target->protocol = backend.model.protocol;
  target->proxy_protocol = backend.model.proxy_protocol;
  return target;
}

CheckConnection::CheckConnection(Core& core, std::shared_ptr<const CheckTarget> target, const base::Address& endpoint)
    : core_(core), target_(std::move(target)), address_(endpoint) {
  if (target_->model.port > 0) address_.set_port(static_cast<std::uint16_t>(target_->model.port));
  if (target_->tls) transport_.secure = std::make_unique<SecureLayer>(target_->tls);
}

// Without an answer it is reset: a connection that was only to be established would stay in TIME_WAIT for a minute.
CheckConnection::~CheckConnection() {
  if (!transport_.socket) return;
  if (answered_) transport_.notify_end(core_.reactor);
  core_.reactor.close(transport_.socket, answered_ ? CloseMode::flush : CloseMode::reset);
}

CheckConnection::Ending CheckConnection::open(base::Owner owner) {
  const auto opened = core_.reactor.connect(address_, owner);
  if (!opened) return on_failed(opened.error().cause);
  transport_.socket = *opened;
  return {};
}

CheckConnection::Ending CheckConnection::on_connected() {
  if (target_->proxy_protocol != routes::ProxyProtocol::off) {
    const bool v1 = target_->proxy_protocol == routes::ProxyProtocol::v1;
    Chain header;
    header.push(wire::write_proxy_header(core_.reactor.blocks(), v1 ? wire::ProxyVersion::v1 : wire::ProxyVersion::v2,
                                         {}));  // of no client: the router's own connection
    core_.reactor.send(transport_.socket, std::move(header));
  }
  if (!transport_.secure) return begin_asking();
  stage_ = Stage::securing;
  transport_.start(core_.reactor);
  core_.reactor.receive(transport_.socket, reactor::Receive::watchful);
  return {};
}

CheckConnection::Ending CheckConnection::begin_asking() {
  if (target_->model.http.empty()) {
    return CheckResult{.outcome = transport_.secure ? CheckOutcome::secured : CheckOutcome::connected};
  }
  stage_ = Stage::asking;
  using enum routes::BackendProtocol;
  const bool agreed = transport_.secure && transport_.secure->session.alpn() == "h2";
  if (agreed || target_->protocol == h2c || target_->protocol == h2) {
    ask_by_h2();
  } else {
    Chain request;
    request.push(core_.reactor.blocks().copy(request_text()));
    send(std::move(request));
  }
  core_.reactor.receive(transport_.socket, reactor::Receive::watchful);
  return ending_;
}

std::string CheckConnection::request_text() const {
  const std::string& host = !target_->model.host.empty() ? target_->model.host
                            : !target_->tls_name.empty() ? target_->tls_name
                                                         : address_.text();
  return "GET " + target_->model.http + " HTTP/1.1\r\nHost: " + host +
         "\r\nUser-Agent: ebbgate-check\r\nAccept: */*\r\nConnection: close\r\n\r\n";
}

void CheckConnection::ask_by_h2() {
  wire::H2Limits limits;
  limits.head = core_.head_limits();
  limits.stream_window = limits.connection_window = h2_window;
  h2_ = std::make_unique<wire::H2Session>(wire::H2Session::Role::client, limits, *this);
  const std::string text = request_text();
  wire::parse_request(text, {}, core_.request);
  const wire::StreamId stream = h2_->request(core_.request, transport_.secure ? "https" : "http", true);
  if (stream == 0) ending_ = CheckResult{.outcome = CheckOutcome::bad_answer};
  send_frames();
}

void CheckConnection::send_frames() {
  Chain frames;
  h2_->collect(core_.reactor.blocks(), frames, h2_output_max);
  if (!frames.empty()) send(std::move(frames));
}

void CheckConnection::send(Chain&& plain) { transport_.send(core_.reactor, std::move(plain)); }

CheckConnection::Ending CheckConnection::on_received(Slice bytes) {
  return transport_.secure ? take_cipher(std::move(bytes)) : take_plain(std::move(bytes));
}

CheckConnection::Ending CheckConnection::take_cipher(Slice bytes) {
  Chain plain;
  const Transport::Received received = transport_.decrypt(core_.reactor, std::move(bytes), plain);
  if (received.status == Transport::Status::failed) return on_failed(received.cause);
  if (received.secured) {
    if (Ending ending = begin_asking()) return ending;
  }
  while (!plain.empty()) {
    if (Ending ending = take_plain(plain.pop_front())) return ending;
  }
  return received.status == Transport::Status::finished ? on_peer_finished() : Ending{};
}

CheckConnection::Ending CheckConnection::take_plain(Slice bytes) {
  if (!h2_) {
    input_.push(std::move(bytes));
    return read_head();
  }
  const auto status = h2_->receive(bytes, core_.reactor.now());
  send_frames();
  if (!ending_ && status == wire::H2Session::Status::failed) return CheckResult{.outcome = CheckOutcome::bad_answer};
  return ending_;
}

CheckConnection::Ending CheckConnection::read_head() {
  while (!input_.empty()) {
    const wire::HeadLimits limits = core_.head_limits();
    gather(core_.reactor.blocks(), input_, limits.head_bytes);
    const Parsed parsed = wire::parse_response(input_.front().view(), limits, wire::Method::get, core_.response);
    if (parsed.status == Parsed::Status::refused) return CheckResult{.outcome = CheckOutcome::bad_answer};
    if (parsed.status == Parsed::Status::incomplete) break;
    if (!core_.response.interim()) return judged(core_.response.status);
    input_.drop_front(parsed.consumed);
  }
  return {};
}

CheckResult CheckConnection::judged(std::uint16_t status) {
  answered_ = true;
  const auto& expected = target_->model.expect;
  const bool good = expected.empty() ? status >= 200 && status <= 399
                                     : std::ranges::any_of(expected, [status](const routes::StatusRange& range) {
                                         return status >= range.first && status <= range.last;
                                       });
  return {.outcome = good ? CheckOutcome::answered : CheckOutcome::unwanted_status, .status = status};
}

CheckConnection::Ending CheckConnection::on_peer_finished() { return on_failed(Cause::backend_closed); }

CheckConnection::Ending CheckConnection::on_failed(Cause cause) {
  if (base::facts(cause).fault != base::Side::backend) return CheckResult{.outcome = CheckOutcome::not_asked};
  switch (stage_) {
    case Stage::connecting: {
      // That nothing listens at another port says nothing about the endpoint's own.
      const Cause why = target_->model.port > 0 ? Cause::backend_check_failed : cause;
      return CheckResult{.outcome = CheckOutcome::not_connected, .cause = why};
    }
    case Stage::securing: return CheckResult{.outcome = CheckOutcome::not_secured};
    case Stage::asking: break;
  }
  return CheckResult{.outcome = CheckOutcome::bad_answer};
}

CheckResult CheckConnection::on_timeout() const {
  switch (stage_) {
    case Stage::connecting: {
      const Cause why = target_->model.port > 0 ? Cause::backend_check_failed : Cause::backend_connect_timeout;
      return {.outcome = CheckOutcome::connect_timeout, .cause = why};
    }
    case Stage::securing: return {.outcome = CheckOutcome::secure_timeout};
    case Stage::asking: break;
  }
  return {.outcome = CheckOutcome::answer_timeout};
}

void CheckConnection::on_response(wire::StreamId, const wire::ResponseHead& head) {
  if (!head.interim() && !ending_) ending_ = judged(head.status);
}

void CheckConnection::on_payload(wire::StreamId stream, Slice bytes) { h2_->consumed(stream, bytes.size()); }

void CheckConnection::on_stream_failed(wire::StreamId, Cause, bool) {
  if (!ending_) ending_ = CheckResult{.outcome = CheckOutcome::bad_answer};
}

}  // namespace ebb::gate
