// Simulated TCP: what two kernels and the wire between them do to a stream. Owns all ends of all connections; names
// them by handle. Processes (the simulated reactor, clients, backends) hold an EndId and are told to look again
// whenever something changed; they are never called from inside one of their own calls.
//
//   process --send--> send buffer --segments, latency, window--> receive buffer --read--> process
//
// In order: data, then FIN or RST. An end that its process closed lives on as an orphan until its bytes are out.
#pragma once

#include <cerrno>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/slot_map.h"
#include "reactor/reactor.h"
#include "sim/byte_queue.h"
#include "sim/world.h"

namespace ebb::sim {

using EndId = base::TypedHandle<struct EndTag>;
using PortId = base::TypedHandle<struct PortTag>;  // a listening socket

// How a connection's path behaves; drawn per connection.
struct Link {
  Duration latency = microseconds{100};
  Duration jitter{};
  Duration gap{};                     // between two segments: the bandwidth
  std::uint32_t segment_max = 65536;  // bytes on the wire at once
  std::uint32_t crumbs = 0;           // so many first bytes of each direction travel in pieces of 1 to 3 bytes
  std::uint32_t send_buffer = 65536;  // of both ends
  std::uint32_t receive_buffer = 65536;
};

// What the way to a host does to its packets, in both directions.
enum class Way : std::uint8_t {
  open,
  swallows,     // nothing passes, nobody says so
  unreachable,  // nothing passes; connection attempts are told so by ICMP (others only make a note of it)
  loses_fins,   // of the host
};

// Who is told that an end or a port changed. `tag` is what the process gave with it.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void on_end_changed(base::Handle tag) = 0;
  virtual void on_port_changed(base::Handle tag) = 0;
};

class Network {
 public:
  explicit Network(World& world) : world_(world) {}

  // From now on new connections are drawn between kind and nasty links.
  void set_nasty(bool nasty) { nasty_ = nasty; }
  void set_link(const Link& link) { fixed_link_ = link, link_is_fixed_ = true; }

  PortId listen(const base::Address& address, Watcher& watcher, base::Handle tag, std::uint32_t backlog = 128);
  bool waiting(PortId port) const;
  EndId accept(PortId port, Watcher& watcher, base::Handle tag, const reactor::SocketLimits& limits);
  // Connections that wait are reset, as the kernel does; returns how many did.
  std::size_t close_port(PortId port);

  EndId connect(const base::Address& from, const base::Address& to, Watcher& watcher, base::Handle tag,
                const reactor::SocketLimits& limits);

  // State of an end, for its process.
  bool open(EndId end) const;         // the handshake has ended and nothing failed
  int error(EndId end) const;         // errno that ended it, or 0
  bool finished(EndId end) const;     // the peer's FIN was reached: all its bytes have been read
  bool deserted(EndId end) const;     // the peer has closed it or ended its output, as this end may learn much later
  bool finish_seen(EndId end) const;  // the peer's FIN has come, perhaps with bytes before it still unread
  std::size_t readable(EndId end) const;
  std::size_t writable(EndId end) const;
  const base::Address& remote(EndId end) const;
  reactor::TcpFacts facts(EndId end) const;
  void ask_peer(EndId end, bool ask);

  std::size_t send(EndId end, std::string_view bytes);  // how many the send buffer took
  std::string read(EndId end, std::size_t most);
  void finish(EndId end);
  void release(EndId end);  // nobody waits for an answer any more, but bytes may still leave
  void close(EndId end);    // unread input turns it into a reset (RFC 1122 4.2.2.13)
  void reset(EndId end);
  void set_tag(EndId end, base::Handle tag);

  // Faults.
  void black_hole(EndId end);  // nothing passes any more, in either direction
  void sever(EndId end);       // something on the path resets both ends
  void set_way(const base::Address& host, Way way);
  Way way_to(const base::Address& host) const;

  std::size_t ends() const { return ends_.size(); }
  std::uint64_t opened() const { return opened_; }
  std::uint64_t closed() const { return closed_; }

 private:
  enum class State : std::uint8_t { connecting, open, dead };
  struct Segment {
    std::uint32_t size = 0;
    std::uint64_t confirms = 0;  // bytes that its sender had received when it was sent
  };
  struct End {
    EndId self;
    EndId peer;
    Watcher* watcher = nullptr;  // nullptr: in an accept queue, or an orphan
    bool orphan = false;         // its process has closed it
    bool released = false;       // its process only waits for its last bytes to leave
    base::Handle tag;
    base::Address from;
    base::Address remote;
    reactor::SocketLimits limits;
    Link link;
    State state = State::connecting;
    int error = 0;
    bool dark = false;          // nothing passes
    bool lost = false;          // and nothing ever will
    bool doomed = false;        // an orphan that was written to: sends no more, and its RST is on its way
    std::uint32_t journey = 0;  // what left on an earlier one does not arrive

    ByteQueue output;  // not yet acknowledged; the first `in_flight` bytes are on the wire
    std::size_t in_flight = 0;
    std::uint64_t sent = 0;  // in all
    std::deque<Segment> segments;
    std::uint64_t acknowledged = 0;  // as this end has heard; the buffer above lets go when bytes arrive
    std::uint32_t crumbs_left = 0;
    Instant last_arrival{};
    Instant asked = Instant::max();  // by keepalive probes from then on
    Instant progress{};              // when the peer last acknowledged something, or output began to wait
    bool timeout_armed = false;
    bool finish_wanted = false;
    bool finish_sent = false;
    bool finish_arrived = false;

    ByteQueue input;
    std::uint64_t received = 0;  // in all
    bool acknowledgement_due = false;
    bool input_finished = false;
  };
  struct Port {
    PortId self;
    base::Address address;
    Watcher* watcher;
    base::Handle tag;
    std::uint32_t backlog;
    std::deque<EndId> queue;
  };

  End& make_end(Watcher* watcher, base::Handle tag, const reactor::SocketLimits& limits, const Link& link);
  const End& get(EndId end) const;
  End& get(EndId end);
  Link draw_link();
  Port* choose_port(const base::Address& address, bool& known);

  void send_syn(EndId client, int attempt);
  void syn_arrives(EndId client, int attempt);
  void syn_lost(EndId client, int attempt);
  void answer_to_syn(EndId client, int attempt);
  void transmit(End& end);
  void segment_arrives(EndId sender, std::uint32_t journey);
  struct Finish {
    EndId from;
    EndId to;
    std::uint32_t journey;
    std::uint64_t confirms;  // what it acknowledges
    std::uint64_t after;     // so many bytes
  };
  void finish_arrives(const Finish& finish);
  void forget_journey(End& end);
  void darken(End& end);
  void brighten(End& end);
  void refuse_segment(End& sender, End* receiver);
  void confirm(End& end, std::uint64_t received);
  void confirm_later(End& receiver);
  void send_reset(End& end);
  void reset_arrives(EndId receiver);
  Instant next_arrival(End& end);
  void die(End& end, int error);
  void tell(End& end);
  void bury_if_done(EndId id);
  void erase(EndId id);
  void arm_user_timeout(End& end);
  void check_user_timeout(EndId id);
  void check_keepalive(EndId id);

  World& world_;
  bool nasty_ = false;
  bool link_is_fixed_ = false;
  Link fixed_link_;
  base::SlotMap<End> ends_;
  base::SlotMap<Port> ports_;
  std::vector<PortId> port_order_;
  std::vector<std::pair<base::Address, Way>> ways_;  // those that are not open
  std::uint64_t opened_ = 0;
  std::uint64_t closed_ = 0;
};

// Kernel limits of clients and backends: patient, as defaults are.
reactor::SocketLimits patient_limits();

}  // namespace ebb::sim
