#include "canary/echo_session.h"

#include "canary/h1_echo.h"
#include "canary/h2_echo.h"
#include "wire/h2_preface.h"

namespace ebb::canary {

namespace {

constexpr char tls_handshake = 0x16;  // RFC 8446 section 5.1; no method of HTTP begins so

}  // namespace

EchoSession::EchoSession(EchoDesk& desk, std::uint16_t port, const wire::ServerContext* tls)
    : desk_(desk), port_(port), context_(tls) {}

void EchoSession::receive(base::Slice bytes, base::Instant now, base::Chain& out) {
  if (waiting() == Waiting::nothing && held() == 0) return;
  const wire::ServerContext* const context = std::exchange(context_, nullptr);
  if (context != nullptr && bytes.view().starts_with(tls_handshake)) tls_.emplace(*context);
  if (!tls_) return take(std::move(bytes), now, out);
  base::Chain answers;
  base::Chain plain;
  const auto status = tls_->receive(desk_.blocks, std::move(bytes), plain, out);
  ended_ = status != wire::TlsSession::Status::open;
  while (!plain.empty()) take(plain.pop_front(), now, answers);
  seal(std::move(answers), out);
}

void EchoSession::take(base::Slice bytes, base::Instant now, base::Chain& out) {
  if (requests_ != nullptr) return requests_->take(std::move(bytes), now, out);
  first_ += bytes.view();
  if (!tls_ && wire::find_h2_preface(first_) == wire::Preface::incomplete) return;
  choose(out);
  requests_->take(desk_.blocks.copy(std::exchange(first_, {})), now, out);
}

void EchoSession::choose(base::Chain& out) {
  const bool h2 = tls_ ? tls_->alpn() == "h2" : wire::find_h2_preface(first_) == wire::Preface::whole;
  if (h2) {
    requests_ = std::make_unique<H2Echo>(desk_, port_);
  } else {
    requests_ = std::make_unique<H1Echo>(desk_, port_);
  }
  if (leaving_) requests_->leave(out);
}

void EchoSession::refill(base::Chain& out) {
  if (requests_ == nullptr) return;
  base::Chain plain;
  requests_->refill(plain);
  seal(std::move(plain), out);
}

void EchoSession::leave(base::Chain& out) {
  leaving_ = true;
  if (requests_ == nullptr) return;
  base::Chain plain;
  requests_->leave(plain);
  seal(std::move(plain), out);
}

EchoSession::Waiting EchoSession::waiting() const {
  if (ended_) return Waiting::nothing;
  if (requests_ != nullptr) return requests_->waiting();
  const bool begun = tls_ ? !tls_->handshake_done() : !first_.empty();
  return begun ? Waiting::rest_of_request : Waiting::request;
}

std::size_t EchoSession::held() const { return ended_ || !tls_ ? 0 : tls_->held(); }

void EchoSession::seal(base::Chain&& plain, base::Chain& out) {
  if (!tls_) return out.push(std::move(plain));
  if (!plain.empty()) {
    const auto status = tls_->send(desk_.blocks, std::move(plain), out);
    ended_ = ended_ || status == wire::TlsSession::Status::failed;
  }
  if (waiting() == Waiting::nothing && tls_->handshake_done()) tls_->close_notify(desk_.blocks, out);
}

}  // namespace ebb::canary
