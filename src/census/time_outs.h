// How often TCP timers have fired in a network namespace. Far cheaper than a dump of its sockets, for which the kernel
// walks the table of all namespaces. Without time-outs no connection can have stalled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb::census {

// For this thread's namespace; empty if unreadable.
std::optional<std::uint64_t> read_time_outs();

// A number from /proc/net/netstat, where a line of names precedes a line of numbers, and both begin with the group.
std::optional<std::uint64_t> find_counter(std::string_view text, std::string_view group, std::string_view name);

}  // namespace ebb::census
