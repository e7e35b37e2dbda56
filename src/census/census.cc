#include "census/census.h"

#include <algorithm>

#include "census/hosts.h"

namespace ebb::census {

bool GonePeers::contains(const base::Address& address) const {
  return hosts.contains(address) || std::ranges::find(ends, address) != ends.end();
}

std::expected<GonePeers, std::string> parse_gone(std::string_view list) {
  GonePeers gone;
  std::vector<routes::Cidr> ranges;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view one = list.substr(0, end);
    list.remove_prefix(std::min(end + 1, list.size()));
    if (const auto range = routes::Cidr::parse(one)) {
      ranges.push_back(*range);
    } else if (const auto address = base::Address::parse(one)) {
      gone.ends.push_back(*address);
    } else {
      return std::unexpected("\"" + std::string(one) + "\" is no address: give 10.1.0.5, 10.1.0.5:8080 or 10.1.0.0/24");
    }
  }
  gone.hosts = routes::AddressSet(ranges);
  return gone;
}

Census classify_all(Sample sample, const History& history, const Policy& policy, const GonePeers& gone) {
  Census census{.sample = std::move(sample)};
  const Hosts hosts(census.sample);
  census.classifications.reserve(census.size());
  census.ages.reserve(census.size());
  for (const Socket& socket : census.sample.sockets) {
    const Surroundings surroundings{.peer_removed = socket.state != State::listen && gone.contains(socket.far_end()),
                                    .host_silent = hosts.silent(socket),
                                    .only_grows = history.only_grows(census.sample, socket)};
    census.classifications.push_back(classify(socket, census.sample.limits_of(socket), policy, surroundings));
    census.ages.push_back(history.age(socket));
  }
  return census;
}

}  // namespace ebb::census
