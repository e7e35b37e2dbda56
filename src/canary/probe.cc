#include "canary/probe.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace ebb::canary {

using base::Cause;
using base::Chain;
using base::Slice;
using reactor::CloseMode;

namespace {

// An address as written in a leg: without brackets, and with a separate port.
std::optional<base::Address> numeric(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != std::string::npos;
  return base::Address::parse(v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port));
}

std::string words(const base::Error& error) {
  return error.sys == 0 ? std::string(base::facts(error.cause).words) : std::strerror(error.sys);
}

Judgement connect_failure(const base::Error& error) {
  const std::string detail = words(error);
  switch (error.cause) {
    case Cause::backend_refused:
    case Cause::backend_reset: return {Fault::connect_refused, detail};
    case Cause::backend_connect_timeout: return {Fault::connect_timeout, detail};
    case Cause::backend_unreachable: return {Fault::connect_unreachable, detail};
    default: return {Fault::unable, detail};
  }
}

}  // namespace

Probe::Probe(reactor::Reactor& reactor, const Leg& leg, base::Owner owner, base::Rng& random)
    : reactor_(reactor), leg_(leg), owner_(owner), random_(random) {}

Probe::~Probe() { hang_up(stage_ == Stage::resting ? CloseMode::flush : CloseMode::reset); }

base::Duration Probe::lap() {
  const base::Instant now = reactor_.clock().now();
  return now - std::exchange(lap_, now);
}

void Probe::make_question() {
  dialogue_ = make_dialogue(leg_.protocol, {leg_.authority, leg_.path, expected_.nonce, leg_.tls != nullptr}, random_);
}

Probe::Ending Probe::begin(Expectation expected) {
  EBB_ASSERT(!under_way());
  expected_ = std::move(expected);
  result_ = {};
  began_ = lap_ = reactor_.clock().now();
  make_question();
  if (stage_ == Stage::parting) hang_up(CloseMode::reset);
  if (socket_ && reactor_.peer_gone(socket_)) hang_up(CloseMode::flush);
  if (socket_) {
    result_.reused = true;
    result_.peer = peer_;
    return begin_asking();
  }
  if (const auto address = numeric(leg_.host, leg_.port)) return connect(*address);
  stage_ = Stage::resolving;
  return {};
}

Probe::Ending Probe::on_resolved(const std::expected<base::Address, std::string>& address) {
  if (!address) return end({Fault::name_resolution, address.error()});
  result_.phases.set(Phase::dns, lap());
  base::Address door = *address;
  door.set_port(leg_.port);
  return connect(door);
}

Probe::Ending Probe::connect(const base::Address& address) {
  stage_ = Stage::connecting;
  result_.peer = peer_ = address.text();
  const auto opened = reactor_.connect(address, owner_);
  if (!opened) return end(connect_failure(opened.error()));
  socket_ = *opened;
  sent_ = 0;
  return {};
}

Probe::Ending Probe::on_connected() {
  result_.phases.set(Phase::connect, lap());
  if (!leg_.tls) return begin_asking();
  stage_ = Stage::securing;
  secure_ = std::make_unique<Secure>(leg_.tls);
  Chain cipher;
  secure_->session.start(reactor_.blocks(), cipher);
  transmit(std::move(cipher));
  reactor_.receive(socket_, reactor::Receive::watchful);
  return {};
}

Probe::Ending Probe::begin_asking() {
  if (secure_ && !result_.reused) {
    result_.phases.set(Phase::tls, lap());
    if (leg_.protocol == Protocol::h2 && secure_->session.alpn() != "h2") {
      return end({Fault::tls_handshake, "HTTP/2 was not agreed upon (ALPN)"});
    }
  }
  if (secure_) note_certificate();
  stage_ = Stage::asking;
  Chain request;
  const Dialogue::Step step = dialogue_->begin(reactor_.blocks(), request);
  reactor_.receive(socket_, reactor::Receive::watchful);
  return after(step, std::move(request));
}

void Probe::note_certificate() {
  result_.tls = secure_->session.protocol();
  const wire::PeerCertificate* const shown = secure_->session.peer_certificate();
  if (shown == nullptr) return;
  result_.certificate = CertificateFacts{.subject = shown->subject,
                                         .issuer = shown->issuer,
                                         .expires = base::WallTime(std::chrono::seconds{shown->expiry}),
                                         .verified = shown->verified};
}

void Probe::send(Chain&& plain) {
  if (plain.empty()) return;
  if (!secure_) return transmit(std::move(plain));
  Chain cipher;
  secure_->session.send(reactor_.blocks(), std::move(plain), cipher);
  transmit(std::move(cipher));
}

void Probe::transmit(Chain&& bytes) {
  sent_ += bytes.bytes();
  reactor_.send(socket_, std::move(bytes));
}

// The kernel buffers a request whatever the peer does; only acknowledgements prove delivery.
bool Probe::delivered() const {
  const auto facts = reactor_.tcp_facts(socket_);
  return facts ? facts->acknowledged >= sent_ : reactor_.unsent(socket_) == 0;
}

Probe::Ending Probe::on_received(Slice bytes) {
  if (stage_ == Stage::parting) return {};
  return secure_ ? take_cipher(std::move(bytes)) : take_plain(bytes);
}

Probe::Ending Probe::take_cipher(Slice bytes) {
  wire::TlsSession& session = secure_->session;
  Chain plain;
  Chain cipher;
  const auto status = session.receive(reactor_.blocks(), std::move(bytes), plain, cipher);
  if (!cipher.empty()) transmit(std::move(cipher));
  if (stage_ == Stage::securing && session.handshake_done() && status != wire::TlsSession::Status::failed) {
    if (Ending ending = begin_asking()) return ending;
  }
  while (!plain.empty()) {
    if (Ending ending = take_plain(plain.pop_front())) {
      // More bytes, or the end, came with the answer: do not reuse this connection.
      const bool more = !plain.empty() || status != wire::TlsSession::Status::open;
      if (stage_ == Stage::resting && more) hang_up(CloseMode::flush);
      return ending;
    }
    if (!socket_) return {};  // unrequested bytes, and the connection is closed
  }
  switch (status) {
    case wire::TlsSession::Status::open: return {};
    case wire::TlsSession::Status::finished: return finish_input(true);
    case wire::TlsSession::Status::failed: break;
  }
  if (stage_ == Stage::resting) {
    hang_up(CloseMode::reset);
    return {};
  }
  // In TLS 1.3 a server may refuse the handshake after the client considers it done.
  if (stage_ == Stage::asking && dialogue_->begun()) return end({Fault::malformed, session.why()});
  const bool untrusted = session.cause() == Cause::backend_tls_untrusted;
  return end({untrusted ? Fault::certificate : Fault::tls_handshake, session.why()});
}

Probe::Ending Probe::take_plain(const Slice& bytes) {
  if (stage_ != Stage::asking) {
    hang_up(CloseMode::reset);  // no request was sent
    return {};
  }
  const bool begun = dialogue_->begun();
  Chain out;
  const Dialogue::Step step = dialogue_->take(reactor_.blocks(), bytes, reactor_.now(), out);
  if (!begun && dialogue_->begun()) result_.phases.set(Phase::first_byte, lap());
  return after(step, std::move(out));
}

Probe::Ending Probe::after(Dialogue::Step step, Chain&& out) {
  send(std::move(out));
  switch (step) {
    case Dialogue::Step::waiting: return {};
    case Dialogue::Step::failed: return end(dialogue_->failure());
    case Dialogue::Step::complete: break;
  }
  Judgement judgement = judge(dialogue_->answer(), expected_, reactor_.clock().now() - began_);
  const bool unproven = leg_.protocol == Protocol::http1_reused && !result_.reused && dialogue_->reusable();
  if (judgement.fault == Fault::none && unproven) return ask_again();
  return end(std::move(judgement), true);
}

Probe::Ending Probe::ask_again() {
  answered_ = std::move(dialogue_);
  result_.reused = true;
  expected_.nonce += "-again";
  make_question();
  lap();
  return begin_asking();
}

// A peer may end an idle connection at any time (RFC 9112 section 9.5), and its earlier answer counts. It must not
// reset the connection: section 9.6 describes how to close without a reset.
bool Probe::closed_instead_of_reused() const { return answered_ != nullptr && !dialogue_->begun(); }

ProbeResult Probe::end_without_reuse() {
  dialogue_ = std::move(answered_);
  result_.reused = false;
  return end({});
}

Probe::Ending Probe::on_peer_finished() {
  Ending ending;
  if (stage_ != Stage::parting) ending = finish_input(secure_ == nullptr);
  if (stage_ == Stage::parting) hang_up(CloseMode::flush);
  return ending;
}

// Close an idle connection as soon as its peer has finished: it would stay half open until the next probe.
Probe::Ending Probe::finish_input(bool cleanly) {
  if (stage_ == Stage::resting) {
    hang_up(CloseMode::flush);
    return {};
  }
  if (stage_ != Stage::asking) return end({Fault::tls_handshake, "closed within the handshake"});
  if (closed_instead_of_reused()) return end_without_reuse();
  return after(dialogue_->finished(cleanly), {});
}

Probe::Ending Probe::on_failed(const base::Error& error) {
  switch (stage_) {
    case Stage::resting:
    case Stage::parting:
    case Stage::resolving: hang_up(CloseMode::reset); return {};
    case Stage::connecting: return end(connect_failure(error));
    case Stage::securing: return end({Fault::tls_handshake, "reset within the handshake"});
    case Stage::asking: break;
  }
  // tcp_reset(): a reset after a FIN is EPIPE. Our request had crossed that FIN.
  if (closed_instead_of_reused() && error.sys == EPIPE) return end_without_reuse();
  if (error.cause == Cause::resource_limit) return end({Fault::unable, words(error)});
  if (std::string_view(error.where) == "send") return end({Fault::write, words(error)});
  if (dialogue_->begun()) return end({Fault::reset, "reset within the answer"});
  return end({Fault::reset, result_.reused ? "reset when the connection was used again" : "reset without an answer"});
}

ProbeResult Probe::on_timeout() {
  switch (stage_) {
    case Stage::resting:
    case Stage::parting:
    case Stage::resolving: return end({Fault::name_resolution, "the resolver did not answer in time"});
    case Stage::connecting: return end({Fault::connect_timeout, "no answer to the connection attempt"});
    case Stage::securing: return end({Fault::tls_handshake, "the handshake did not end in time"});
    case Stage::asking: break;
  }
  if (!delivered()) return end({Fault::write, "the peer does not take the request"});
  if (!dialogue_->begun()) return end({Fault::first_byte_timeout, ""});
  return end({Fault::slow, "the answer began and did not end in time"});
}

// After a complete answer the connection is closed gracefully. Otherwise it is reset, which leaves no TIME_WAIT.
ProbeResult Probe::end(Judgement judgement, bool whole) {
  result_.answer = dialogue_->answer();
  result_.phases.set(Phase::total, reactor_.clock().now() - began_);
  result_.judgement = std::move(judgement);
  stage_ = Stage::resting;
  if (!whole) {
    hang_up(CloseMode::reset);
  } else if (!dialogue_->reusable()) {
    part();
  }
  dialogue_.reset();
  answered_.reset();
  return std::exchange(result_, {});
}

// Closing with a FIN alone would leave the socket to the reactor for as long as the peer likes. Here the socket stays
// in the book.
void Probe::part() {
  stage_ = Stage::parting;
  Chain last;
  dialogue_->part(reactor_.blocks(), last);
  send(std::move(last));
  if (secure_) {
    Chain cipher;
    secure_->session.close_notify(reactor_.blocks(), cipher);
    transmit(std::move(cipher));
  }
  reactor_.finish(socket_);
}

void Probe::hang_up(CloseMode mode) {
  if (socket_) reactor_.close(std::exchange(socket_, {}), mode);
  secure_.reset();
  if (stage_ == Stage::parting) stage_ = Stage::resting;
}

}  // namespace ebb::canary
