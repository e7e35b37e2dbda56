#include "sim/tls_line.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>

namespace ebb::sim {

namespace {

constexpr std::size_t overhead_max = 64;  // of a record, with what may follow it
// Where little room is left nobody seals it byte by byte: ten times as much as is said would go over a slow path.
constexpr std::size_t record_min = 100;
constexpr Duration there_and_back = milliseconds{300};  // on the longest way that a link has
constexpr std::string_view bad_record("\x17\x03\x03\x00\x20________________________________", 37);

std::string from_hexadecimal(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes += static_cast<char>(digit(text[i]) * 16 + digit(text[i + 1]));
  return bytes;
}

}  // namespace

TlsLine::TlsLine(World& world, TlsSite& site, TlsSite::Peer peer, std::unique_ptr<Line> below, TlsSite::PeerWish wish,
                 const TlsManners& manners)
    : world_(world),
      rng_(world.rng().next()),
      below_(std::move(below)),
      peer_(peer),
      wish_(std::move(wish)),
      manners_(manners),
      ssl_(site.session(peer, wish_)),
      speaks_at_(world.now() + manners.hello_delay) {
  SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_app_data(ssl_, this);
}

TlsLine::~TlsLine() {
  *alive_ = false;
  SSL_free(ssl_);
}

void TlsLine::on_change(std::function<void()> changed) {
  changed_ = changed;
  below_->on_change(std::move(changed));
}

void TlsLine::on_key(const SSL* ssl, const char* text) {
  auto& line = *static_cast<TlsLine*>(SSL_get_app_data(ssl));
  const std::string_view own =
      line.peer_ == TlsSite::Peer::client ? "CLIENT_TRAFFIC_SECRET_0 " : "SERVER_TRAFFIC_SECRET_0 ";
  const std::string_view told(text);
  if (told.starts_with(own)) line.secret_ = from_hexadecimal(told.substr(told.rfind(' ') + 1));
}

int TlsLine::choose_protocol(SSL* ssl, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                             unsigned int offered_size, void*) {
  const std::string& wanted = static_cast<TlsLine*>(SSL_get_app_data(ssl))->wish_.alpn;
  for (unsigned int at = 0; at < offered_size; at += 1u + offered[at]) {
    if (std::string_view(reinterpret_cast<const char*>(offered + at + 1), offered[at]) != wanted) continue;
    *out = offered + at + 1;
    *size = offered[at];
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

std::string_view TlsLine::agreed() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

void TlsLine::work() {
  if (failed_ || (below_->error() == 0 && !below_->open())) return;
  below_->work();
  flush();
  if (!done_) shake_hands();
  if (finish_wanted_) finish();
}

void TlsLine::flush() {
  if (pending_.empty() || below_->error() != 0) return;
  pending_.drop(below_->send(pending_.view()));
}

void TlsLine::take_output() {
  char* bytes = nullptr;
  BIO* out = SSL_get_wbio(ssl_);
  const long size = BIO_get_mem_data(out, &bytes);
  if (size > 0 && (sealer_ == nullptr)) pending_.push({bytes, static_cast<std::size_t>(size)});
  (void)BIO_reset(out);
  flush();
}

void TlsLine::shake_hands() {
  const Duration early = speaks_at_ - world_.now();
  if (early > Duration{}) {
    world_.after(early, [this, alive = alive_] {
      if (*alive && changed_) changed_();
    });
    return;
  }
  const std::string bytes = below_->read(SIZE_MAX);
  BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
  ERR_clear_error();
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) {
    take_result(result);
    return take_output();
  }
  // What an endpoint says in this last step are its tickets, under the keys of application data.
  std::uint64_t records = 0;
  char* said = nullptr;
  const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &said);
  const auto* octets = reinterpret_cast<unsigned char*>(said);
  for (long at = 0; at + 5 <= size; at += 5 + (octets[at + 3] << 8 | octets[at + 4])) records += 1;
  take_output();
  done_ = true;
  world_.note("secured", number(), SSL_session_reused(ssl_) == 1 ? 1 : 0);
  if (!wish_.tls12) sealer_ = std::make_unique<RecordSealer>(secret_, peer_ == TlsSite::Peer::endpoint ? records : 0);
  decrypt(SIZE_MAX);
}

// ---- reading ---------------------------------------------------------------------------------------------------

void TlsLine::take_result(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ: return;
    case SSL_ERROR_ZERO_RETURN: clean_ = true; return;
    default: break;
  }
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  failed_ = true;
  world_.note("TLS failed", number(), static_cast<std::uint64_t>(reason));
  const bool alert = reason >= SSL_AD_REASON_OFFSET;
  if (!alert)
    world_.fail("TLS of the router cannot be read: " + std::string(ERR_reason_error_string(ERR_peek_last_error())));
  ERR_clear_error();
}

void TlsLine::decrypt(std::size_t most) {
  ERR_clear_error();
  char block[4096];
  while (!clean_ && !failed_ && plain_.size() < most) {
    const int count = SSL_read(ssl_, block, sizeof(block));
    if (count <= 0) {
      take_result(count);
      break;
    }
    plain_.push({block, static_cast<std::size_t>(count)});
  }
  take_output();
}

std::string TlsLine::read(std::size_t most) {
  if (!done_) return {};
  if (plain_.size() < most && !clean_ && !failed_) {
    const std::string bytes = below_->read(most > SIZE_MAX - overhead_max ? most : most + overhead_max);
    BIO_write(SSL_get_rbio(ssl_), bytes.data(), static_cast<int>(bytes.size()));
    decrypt(SIZE_MAX);
  }
  return plain_.pop(most);
}

bool TlsLine::torn() const {
  if (failed_ || clean_) return false;
  return !done_ ? !SSL_in_before(ssl_) : SSL_has_pending(ssl_) == 1 || BIO_pending(SSL_get_rbio(ssl_)) > 0;
}

// ---- writing ---------------------------------------------------------------------------------------------------

std::size_t TlsLine::room() const {
  if (!done_ || blocked() || finish_wanted_ || below_->error() != 0) return 0;
  const std::size_t below = below_->room();
  return below >= 2 * overhead_max + record_min ? below - 2 * overhead_max : 0;
}

std::size_t TlsLine::send(std::string_view bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size() && room() > 0) {
    const std::string_view piece = bytes.substr(sent, std::min<std::size_t>(room(), manners_.record_max));
    if (sealer_ != nullptr) {
      pending_.push(sealer_->seal(RecordSealer::application_data, piece));
    } else if (SSL_write(ssl_, piece.data(), static_cast<int>(piece.size())) <= 0) {
      failed_ = true;
      break;
    }
    sealer_ != nullptr ? flush() : take_output();
    sent += piece.size();
    if (sealer_ != nullptr && rng_.chance(manners_.messages)) say_more();
  }
  return sent;
}

// A message of the handshake protocol between two records of application data (RFC 8446 section 4.6).
void TlsLine::say_more() {
  rest_updates_ = peer_ == TlsSite::Peer::client || rng_.chance(500);
  const std::string message = rest_updates_ ? key_update(manners_.asks_back) : ticket();
  const std::size_t cut = manners_.in_halves ? rng_.between(1, message.size() - 1) : 0;
  rest_ = message.substr(cut);
  if (cut == 0) return end_message();
  world_.note("half a message", number(), cut);
  pending_.push(sealer_->seal(RecordSealer::handshake, message.substr(0, cut)));
  flush();
  world_.after(manners_.between, [this, alive = alive_] {
    if (!*alive) return;
    end_message();
    if (changed_) changed_();
  });
}

void TlsLine::end_message() {
  world_.note("end of a message", number(), rest_updates_ ? 1 : 0);
  pending_.push(sealer_->seal(RecordSealer::handshake, std::exchange(rest_, {})));
  if (rest_updates_) sealer_->update_keys();
  message_heard_ = world_.now() + there_and_back;
  flush();
}

void TlsLine::say_goodbye() {
  if (!done_ || failed_ || blocked() || std::exchange(finished_ours_, true)) return;
  if (sealer_ != nullptr) {
    pending_.push(sealer_->seal(RecordSealer::alert, std::string_view("\1\0", 2)));
    flush();
  } else {
    SSL_shutdown(ssl_);
    take_output();
  }
}

void TlsLine::finish() {
  finish_wanted_ = true;
  if (!done_ || blocked()) return;
  say_goodbye();
  if (pending_.empty()) below_->finish();
}

void TlsLine::close() {
  const bool ended = finish_seen();
  if (below_->error() == 0) below_->read(SIZE_MAX);  // tickets and goodbyes that nobody waits for: no reset for those
  if (done_ && ended && manners_.throws_garbage && below_->error() == 0) {
    world_.note("garbage", number());
    below_->send(bad_record);
  } else if (manners_.says_goodbye && below_->error() == 0) {
    say_goodbye();
  }
  below_->close();
}

}  // namespace ebb::sim
