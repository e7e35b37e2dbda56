// What the two sides of HTTP/2 do alike with the frames of a connection.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>

#include "gate/core.h"
#include "wire/h2.h"

namespace ebb::gate {

using StreamMap = boost::unordered_flat_map<wire::StreamId, base::Handle>;

// The half of an exchange that a stream carries; an invalid handle when its exchange is over.
inline base::Handle half_of(const StreamMap& streams, wire::StreamId id) {
  const auto found = streams.find(id);
  return found == streams.end() ? base::Handle{} : found->second;
}

// Until nothing is left or the socket is full. One turn is not enough: what the kernel took at once is not followed by
// on_drained.
template <class Unsent, class Send>
void send_frames(Core& core, wire::H2Session& codec, Unsent&& unsent, Send&& send) {
  do {
    const std::size_t waiting = unsent();
    if (waiting >= output_high_water) return codec.postpone();  // on_drained comes back here
    base::Chain out;
    codec.collect(core.reactor.blocks(), out, output_high_water - waiting, core.reactor.now());
    if (out.empty()) return;
    send(std::move(out));
  } while (codec.has_output());
}

}  // namespace ebb::gate
