#include "canary/echo_session.h"

#include "canary/h1_echo.h"
#include "canary/h2_echo.h"
#include "wire/h2_preface.h"

namespace ebb::canary {

EchoSession::EchoSession(EchoDesk& desk, std::uint16_t port, std::optional<std::string_view> alpn)
    : desk_(desk), port_(port) {
  if (alpn) choose(*alpn == "h2");
}

void EchoSession::take(base::Slice bytes, base::Instant now, base::Chain& out) {
  if (chosen_ != nullptr) return chosen_->take(std::move(bytes), now, out);
  first_ += bytes.view();
  const wire::Preface preface = wire::find_h2_preface(first_);
  if (preface == wire::Preface::incomplete) return;
  choose(preface == wire::Preface::whole);
  if (leaving_) chosen_->leave(out);
  chosen_->take(desk_.blocks.copy(std::exchange(first_, {})), now, out);
}

void EchoSession::choose(bool h2) {
  if (h2) {
    chosen_ = std::make_unique<H2Echo>(desk_, port_);
  } else {
    chosen_ = std::make_unique<H1Echo>(desk_, port_);
  }
}

void EchoSession::refill(base::Chain& out) {
  if (chosen_ != nullptr) chosen_->refill(out);
}

void EchoSession::leave(base::Chain& out) {
  leaving_ = true;
  if (chosen_ != nullptr) chosen_->leave(out);
}

EchoSession::Waiting EchoSession::waiting() const {
  if (chosen_ != nullptr) return chosen_->waiting();
  return first_.empty() ? Waiting::request : Waiting::rest_of_request;
}

}  // namespace ebb::canary
