// How often timers of TCP have fired in a network namespace. Far cheaper than a dump of its sockets, for which the
// kernel walks the table of all namespaces: where nothing has timed out, no connection can have stalled.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ebb::census {

// Of the namespace that this thread is in; none: it cannot be read.
std::optional<std::uint64_t> read_time_outs();

// A number of /proc/net/netstat, where a line of names is followed by one of numbers and both begin with the group.
std::optional<std::uint64_t> find_counter(std::string_view text, std::string_view group, std::string_view name);

}  // namespace ebb::census
