#include "census/translations.h"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>

#include <cerrno>

namespace ebb::census {
namespace {

constexpr int readings_max = 4;

}  // namespace

std::expected<void, int> Translations::read(NetlinkSocket& socket) {
  const nfgenmsg request{.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0};
  const auto take = [this](const Message& message) {
    const auto tracked = read_conntrack_message(message.body);
    if (tracked) {
      add(*tracked);
    } else if (tracked.error() == TrackedFault::malformed) {
      ++unreadable_;
    }
  };
  for (int attempt = 1;; ++attempt) {
    const auto done =
        socket.dump(NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, std::as_bytes(std::span(&request, 1)), take);
    // The entries of an interrupted dump are true; repeat it only for the missing ones.
    if (done || (done.error().interrupted && attempt == readings_max)) return {};
    if (!done.error().interrupted) return std::unexpected(done.error().error);
  }
}

void Translations::add(const Tracked& tracked) {
  if (!tracked.translated() || real_.size() + 2 > entries_max) return;
  // The opener sees the original destination; the acceptor sees the destination of replies.
  if (tracked.original.destination != tracked.reply.source) {
    real_[{tracked.original.source, tracked.original.destination}] = tracked.reply.source;
  }
  if (tracked.original.source != tracked.reply.destination) {
    real_[{tracked.reply.source, tracked.reply.destination}] = tracked.original.source;
  }
}

base::Address Translations::real_peer(const base::Address& local, const base::Address& peer) const {
  const auto found = real_.find({local, peer});
  return found == real_.end() ? base::Address() : found->second;
}

}  // namespace ebb::census
