// Finds and deletes one entry of connection tracking, by the addresses that the opener sees.
#pragma once

#include <expected>

#include "census/conntrack_reader.h"
#include "census/netlink_socket.h"

namespace ebb::census {

// The error is errno; ENOENT: not tracked here.
std::expected<Tracked, int> find_entry(NetlinkSocket& tracking, const Tuple& original);

// Deletes exactly this entry, by its id: another entry with the same ends stays, and the error is ENOENT.
std::expected<void, int> delete_entry(NetlinkSocket& tracking, const Tracked& entry);

}  // namespace ebb::census
