// A connection as the process at one end sees it, whatever carries it: bare TCP (Wire), TLS (tls_line.h) or a stream of
// HTTP/2 (stream_line.h). Owned by the actor that reads and writes it, or by the line above it.
//
//   actor --HTTP/1--> [StreamLine --frames--> Trunk] --> [TlsLine] --> Wire --> Network
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "sim/network.h"

namespace ebb::sim {

class Line {
 public:
  virtual ~Line() = default;
  // Whoever is to look again when something has changed. Not called from inside a call of the actor's.
  virtual void on_change(std::function<void()> changed) = 0;
  // Does what has become possible meanwhile: a step of a handshake, output that had no room.
  virtual void work() {}

  virtual bool open() const = 0;         // handshakes are over and nothing has failed
  virtual int error() const = 0;         // errno that ended it, or 0
  virtual bool finished() const = 0;     // the peer's end was reached: all its bytes have been read
  virtual bool finish_seen() const = 0;  // the peer's end has come, perhaps with bytes before it still unread
  virtual bool clean() const = 0;        // the peer's end vouches for all that came before it
  virtual bool deserted() const = 0;     // the peer has let go of it, as this side may learn much later
  virtual std::size_t readable() const = 0;
  virtual std::size_t room() const = 0;  // bytes that send() would take

  virtual std::size_t send(std::string_view bytes) = 0;
  virtual std::string read(std::size_t most) = 0;
  virtual void finish() = 0;
  // These end it for its owner, who destroys it.
  virtual void close() = 0;  // in order
  virtual void drop() = 0;   // as the kernel does for a process that is gone: nobody says goodbye
  virtual void reset() = 0;
  virtual void calm_down() {}  // from now on it says nothing that it need not

  virtual std::uint64_t number() const = 0;               // for the trace
  virtual std::string_view agreed() const { return {}; }  // by ALPN
  virtual bool secure() const { return false; }
  virtual bool torn() const { return false; }         // something has come that is no message yet
  virtual bool in_message() const { return false; }   // half of one of ours is out: the peer can say nothing meanwhile
  virtual bool is_stream() const { return false; }    // of several on one connection
  virtual bool unprocessed() const { return false; }  // the peer vouches that it did nothing about it
  virtual bool by_own_hand() const { return false; }  // this side ended the connection below it
};

// Bare TCP.
class Wire final : public Line, private Watcher {
 public:
  explicit Wire(Network& network) : network_(network) {}
  void connect(const base::Address& from, const base::Address& to) {
    end_ = network_.connect(from, to, *this, {}, patient_limits());
  }
  void accept(PortId port) { end_ = network_.accept(port, *this, {}, patient_limits()); }
  ~Wire() override {
    if (end_) network_.reset(end_);
  }

  void on_change(std::function<void()> changed) override { changed_ = std::move(changed); }
  bool open() const override { return network_.open(end_); }
  int error() const override { return network_.error(end_); }
  bool finished() const override { return network_.finished(end_); }
  bool finish_seen() const override { return network_.finish_seen(end_); }
  bool clean() const override { return finished(); }
  bool deserted() const override { return network_.deserted(end_); }
  std::size_t readable() const override { return network_.readable(end_); }
  std::size_t room() const override { return network_.writable(end_); }
  std::size_t send(std::string_view bytes) override { return network_.send(end_, bytes); }
  std::string read(std::size_t most) override { return network_.read(end_, most); }
  void finish() override { network_.finish(end_); }
  void close() override { network_.close(std::exchange(end_, {})); }
  void drop() override { close(); }
  void reset() override { network_.reset(std::exchange(end_, {})); }
  std::uint64_t number() const override { return end_.slot; }

 private:
  void on_end_changed(base::Handle) override {
    if (changed_) changed_();
  }
  void on_port_changed(base::Handle) override {}

  Network& network_;
  EndId end_;
  std::function<void()> changed_;
};

}  // namespace ebb::sim
