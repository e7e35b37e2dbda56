// The connections of a network namespace with address translation, and their real peers.
#pragma once

#include <expected>
#include <unordered_map>

#include "census/conntrack_reader.h"
#include "census/netlink_socket.h"

namespace ebb::census {

class Translations {
 public:
  static constexpr std::size_t entries_max = 1'000'000;

  // The error is errno: EPERM without CAP_NET_ADMIN, EPROTONOSUPPORT or EINVAL if the kernel has no tracking.
  std::expected<void, int> read(NetlinkSocket& socket);
  void add(const Tracked& tracked);
  // Invalid: not translated.
  base::Address real_peer(const base::Address& local, const base::Address& peer) const;
  std::size_t size() const { return real_.size(); }
  std::size_t unreadable() const { return unreadable_; }

 private:
  struct Ends {
    base::Address local;
    base::Address peer;
    friend bool operator==(const Ends&, const Ends&) = default;
  };
  struct Hash {
    std::size_t operator()(const Ends& ends) const { return ends.local.hash() * 31 + ends.peer.hash(); }
  };
  std::unordered_map<Ends, base::Address, Hash> real_;
  std::size_t unreadable_ = 0;
};

}  // namespace ebb::census
