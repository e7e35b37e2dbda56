// The standing of endpoints by all lists so far. Pure: the caller passes the time.
//
// An unlisted address is unknown and its connections stay, with two exceptions: a service's address is translated to an
// endpoint that the service does not have (any more); or an endpoint was listed until a moment ago. Neither holds while
// the service has no ready endpoint: then there is no better endpoint, and an empty list is more likely wrong than
// true.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "census/socket.h"
#include "reap/truth.h"

namespace ebb::reap {

enum class Standing : std::uint8_t {
  unknown,
  serving,
  leaving,      // within its grace
  past_grace,   // leaving for longer than its grace
  gone_listed,  // listed as gone
  removed,      // no longer listed
};

struct StandingOf {
  Standing standing = Standing::unknown;
  std::string_view service = {};       // valid until the next know()
  std::optional<base::Instant> since;  // when its standing changed, if known
};

class Endpoints {
 public:
  // If clients connect to endpoints directly, a later connection goes to a new owner of the address.
  static constexpr base::Duration remembered = std::chrono::seconds{60};

  void know(const Truth& truth, base::Instant now);
  StandingOf standing_of(const census::Socket& socket, base::Instant now) const;

  // Times at which endpoints became leaving, gone, or past the grace: the last one, and the next end of a grace.
  std::optional<base::Instant> last_departure(base::Instant now) const;
  std::optional<base::Instant> next_departure(base::Instant now) const;
  std::size_t count(Presence presence) const { return counts_[static_cast<std::size_t>(presence)]; }

 private:
  struct Hash {
    std::size_t operator()(const base::Address& address) const { return address.hash(); }
  };
  template <class Value>
  using ByAddress = std::unordered_map<base::Address, Value, Hash>;

  struct Seen {
    Presence state = Presence::ready;
    base::Instant since{};  // of the state
    base::Duration grace{};
  };
  struct Known {
    ByAddress<Seen> endpoints;
    ByAddress<base::Instant> removed;          // within `remembered`
    std::optional<base::Instant> ready_since;  // empty: no ready endpoint
  };
  using Services = std::unordered_map<std::string, Known>;

  static StandingOf standing(const Seen& seen, std::string_view service, base::Instant now);
  static void remember(const Known& earlier, Known& known, base::Instant now);
  void index();
  StandingOf behind_service(const std::string& service, const census::Socket& socket, base::Instant now) const;
  StandingOf direct(const base::Address& end, base::Instant now) const;

  Services services_;
  ByAddress<std::string> service_at_;                // its address -> its name
  ByAddress<std::vector<std::string>> services_of_;  // endpoint -> names, including services that had it a moment ago
  std::vector<census::GonePeers> gone_;
  std::optional<base::Instant> gone_since_;  // since the current lists
  std::vector<base::Instant> departures_;    // sorted
  std::size_t counts_[3] = {};
};

}  // namespace ebb::reap
