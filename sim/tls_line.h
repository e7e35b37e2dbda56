// TLS over a line, as a peer of the router speaks it: OpenSSL shakes hands and reads; with TLS 1.3 what is sent is
// sealed by hand, so that messages come in halves, keys change in the middle of an answer, and connections end rudely.
#pragma once

#include <memory>
#include <string>

#include "sim/byte_queue.h"
#include "sim/line.h"
#include "sim/records.h"
#include "sim/tls_site.h"

namespace ebb::sim {

// Drawn per connection.
struct TlsManners {
  bool tls12 = false;
  std::uint32_t record_max = 16384;
  std::uint32_t messages = 0;  // per thousand records: a KeyUpdate, or a ticket of an endpoint, behind it
  bool in_halves = false;      // those come in two records, some time apart
  Duration between{};
  bool asks_back = false;  // for a KeyUpdate of the router
  Duration hello_delay{};  // before its first flight
  bool says_goodbye = true;
  bool throws_garbage = false;  // behind the end of what the router sent
};

class TlsLine final : public Line {
 public:
  TlsLine(World& world, TlsSite& site, TlsSite::Peer peer, std::unique_ptr<Line> below, TlsSite::PeerWish wish,
          const TlsManners& manners);
  ~TlsLine() override;

  void on_change(std::function<void()> changed) override;
  void work() override;
  bool open() const override { return done_ && !failed_ && below_->open(); }
  int error() const override { return failed_ ? EPROTO : below_->error(); }
  bool finished() const override { return plain_.empty() && (clean_ || (below_->finished() && below_->error() == 0)); }
  bool finish_seen() const override { return clean_ || below_->finish_seen(); }
  bool clean() const override { return clean_; }
  bool deserted() const override { return below_->deserted(); }
  std::size_t readable() const override { return plain_.size() + (clean_ || failed_ ? 0 : below_->readable()); }
  std::size_t room() const override;
  std::size_t send(std::string_view bytes) override;
  std::string read(std::size_t most) override;
  void calm_down() override { manners_.messages = 0; }
  void finish() override;
  void close() override;
  void drop() override { below_->drop(); }
  void reset() override { below_->reset(); }
  std::uint64_t number() const override { return below_->number(); }
  std::string_view agreed() const override;
  bool secure() const override { return true; }
  bool torn() const override;
  bool in_message() const override { return !rest_.empty() || world_.now() < message_heard_; }

  // OpenSSL's callbacks, which find the line of a session.
  static void on_key(const SSL* ssl, const char* line);
  static int choose_protocol(SSL* ssl, const unsigned char** out, unsigned char* size, const unsigned char* offered,
                             unsigned int offered_size, void*);

 private:
  bool blocked() const { return !rest_.empty() || !pending_.empty(); }
  void shake_hands();
  void take_output();
  void flush();
  void decrypt(std::size_t most);
  void take_result(int result);
  void say_more();
  void end_message();
  void say_goodbye();

  World& world_;
  base::Rng rng_;
  std::unique_ptr<Line> below_;
  TlsSite::Peer peer_;
  TlsSite::PeerWish wish_;
  TlsManners manners_;
  std::function<void()> changed_;
  SSL* ssl_;
  std::string secret_;  // of what this side sends
  std::unique_ptr<RecordSealer> sealer_;
  ByteQueue pending_;  // sealed, and there was no room yet
  ByteQueue plain_;
  std::string rest_;           // the second half of a message
  bool rest_updates_ = false;  // it is a KeyUpdate's
  Instant message_heard_{};    // its end, and what the peer did before it, have surely come
  Instant speaks_at_{};        // the first flight
  bool done_ = false;
  bool failed_ = false;
  bool clean_ = false;
  bool finish_wanted_ = false;
  bool finished_ours_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace ebb::sim
