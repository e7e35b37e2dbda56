// One entry of connection tracking, asked for and deleted by the ends that its opener sees.
#pragma once

#include <expected>

#include "census/conntrack_reader.h"
#include "census/netlink_socket.h"

namespace ebb::census {

// The error is errno; ENOENT: it is not tracked here.
std::expected<Tracked, int> find_entry(NetlinkSocket& tracking, const Tuple& original);

// This very entry, by its id: another one of the same ends stays, and ENOENT says so.
std::expected<void, int> delete_entry(NetlinkSocket& tracking, const Tracked& entry);

}  // namespace ebb::census
