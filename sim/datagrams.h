// Datagrams of a simulated world: a network that loses and reorders them and never doubles one, clients that send, the
// endpoints that answer, and the judge. Who sent a datagram, and to whom it may go, is told by its number alone.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/slot_map.h"
#include "sim/content.h"
#include "sim/world.h"

namespace ebb::sim {

class DatagramNetwork {
 public:
  struct Came {
    base::Address from;
    base::Address to;
    std::string bytes;
  };
  // `refused`: one that was sent to this address from the socket has come back.
  struct Socket {
    std::function<void(const Came& came)> came{};
    std::function<void()> refused{};
  };

  explicit DatagramNetwork(World& world) : world_(world) {}
  void set_loss(std::uint32_t per_thousand) { loss_ = per_thousand; }

  base::Handle bind(const base::Address& address, Socket socket);  // several may share an address
  void close(base::Handle socket);
  void send(base::Handle from, const base::Address& source, const base::Address& to, std::string_view bytes);

 private:
  struct Bound {
    base::Address address;
    Socket socket;
  };
  void arrive(base::Handle from, const Came& came);

  World& world_;
  std::uint32_t loss_ = 0;
  base::SlotMap<Bound> bound_;
};

// What is known of each datagram of a client, and what has become of it.
class DatagramLedger {
 public:
  explicit DatagramLedger(World& world) : world_(world) {}

  std::string ask(std::size_t client, std::size_t bytes);  // a new one
  // An endpoint has got it; returns the answer.
  std::string seen(std::string_view bytes, const std::string& endpoint, bool may_get_work);
  void answered(std::size_t client, std::string_view bytes);

  std::uint64_t asked() const { return datagrams_.size(); }
  std::uint64_t answers() const { return answers_; }
  std::uint64_t unanswered(std::size_t client) const;
  std::size_t endpoints_of(std::size_t client) const;  // that its datagrams have reached

 private:
  struct Datagram {
    std::size_t client;
    std::size_t bytes;
    bool seen = false;
    bool answered = false;
    std::string endpoint{};
  };
  Datagram* find(std::string_view bytes, char kind, std::uint64_t& number);
  void wrong(const std::string& what) { world_.fail("datagrams: " + what); }

  World& world_;
  std::deque<Datagram> datagrams_;
  std::uint64_t answers_ = 0;
};

class DatagramClient {
 public:
  DatagramClient(World& world, DatagramNetwork& network, DatagramLedger& ledger, std::size_t number,
                 const base::Address& from, const base::Address& to);
  ~DatagramClient() { network_.close(socket_); }
  DatagramClient(const DatagramClient&) = delete;
  DatagramClient& operator=(const DatagramClient&) = delete;
  void send(std::uint32_t count, Duration gap);
  std::size_t number() const { return number_; }

 private:
  World& world_;
  DatagramNetwork& network_;
  DatagramLedger& ledger_;
  std::size_t number_;
  base::Address from_;
  base::Address to_;
  base::Handle socket_;
};

class DatagramEndpoint {
 public:
  DatagramEndpoint(World& world, DatagramNetwork& network, DatagramLedger& ledger, const base::Address& address,
                   std::function<bool()> may_get_work);
  ~DatagramEndpoint() { close(); }
  DatagramEndpoint(const DatagramEndpoint&) = delete;
  DatagramEndpoint& operator=(const DatagramEndpoint&) = delete;
  void open();
  void close();  // whoever sends to it is told

 private:
  void answer(const DatagramNetwork::Came& came);

  World& world_;
  DatagramNetwork& network_;
  DatagramLedger& ledger_;
  base::Address address_;
  std::function<bool()> may_get_work_;
  base::Handle socket_{};
  bool open_ = false;
};

}  // namespace ebb::sim
