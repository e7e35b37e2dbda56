#include "gate/relief.h"

#include <algorithm>
#include <boost/unordered/unordered_flat_map.hpp>

#include "gate/clients.h"
#include "gate/exchanges.h"
#include "gate/request_path.h"
#include "gate/witnesses.h"

namespace ebb::gate {

using base::Cause;
using base::Handle;

namespace {

constexpr base::Duration pause = std::chrono::milliseconds{20};
// A reader that needs longer for the last 256 KiB goes before others have to share less.
constexpr base::Duration flush_grace = std::chrono::seconds{10};
// Who holds no more than a few requests is spared as long as anything can be received at all.
constexpr std::size_t spared_bytes = std::size_t{64} << 10;

}  // namespace

void Relief::act() {
  if (core_.reactor.now() < next_) return;
  next_ = core_.reactor.now() + pause;
  const base::BlockPool& blocks = core_.reactor.blocks();
  const std::size_t in_use = blocks.bytes_in_use();
  const std::size_t ended = core_.reactor.end_flushing(in_use - filled(blocks), flush_grace);
  // What is closed is freed when the kernel has let go of it, so that the pool cannot be asked how much that was.
  const std::size_t on_its_way = ended - std::min(ended, in_use - blocks.bytes_in_use());
  if (!blocks.crowded()) return;
  core_.witnesses->end({}, Cause::buffer_limit);
  core_.request_path->drop_replay_copies();
  if (blocks.crowded()) end_holders(on_its_way);
}

// `freed`: what the pool will get back anyway.
void Relief::end_holders(std::size_t freed) {
  const base::BlockPool& blocks = core_.reactor.blocks();
  const std::size_t excess = blocks.bytes_in_use() - blocks.budget() / 4 * 3;
  if (freed < excess) freed += core_.reactor.end_flushing(excess - freed, base::Duration::zero());
  if (freed >= excess) return;
  std::vector<Holder> all = holders();
  std::ranges::sort(all, std::ranges::greater{}, &Holder::bytes);
  for (const Holder& holder : all) {
    const bool harmless = holder.bytes < spared_bytes && !blocks.over_budget();
    if (freed >= excess || holder.bytes == 0 || harmless) return;
    freed += holder.bytes;
    core_.clients->end(holder.client, Cause::buffer_limit);
  }
}

std::vector<Relief::Holder> Relief::holders() {
  boost::unordered_flat_map<const ClientConnection*, std::size_t> of_exchanges;
  core_.exchanges->for_each([&of_exchanges](Handle, const Exchange& exchange) {
    const ClientConnection* client = exchange.life.ended() ? nullptr : exchange.front->connection(exchange.client);
    if (client == nullptr) return;
    of_exchanges[client] += exchange.memory();
  });
  std::vector<Holder> all;
  core_.clients->for_each([&](Handle handle, const ClientConnection& client) {
    if (client.life.ended()) return;
    const auto found = of_exchanges.find(&client);
    all.push_back({handle, core_.clients->memory(client) + (found == of_exchanges.end() ? 0 : found->second)});
  });
  return all;
}

}  // namespace ebb::gate
