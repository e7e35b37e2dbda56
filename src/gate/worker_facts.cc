// What a worker tells the control plane of its connections, and what it ends on its behalf.
#include <unordered_map>

#include "gate/worker.h"

namespace ebb::gate {

std::vector<ConnectionFacts> Worker::connection_facts(const ConnectionFilter& filter) {
  const base::Instant now = core_.reactor.now();
  std::unordered_map<std::uint32_t, std::vector<ExchangeFacts>> exchanges;  // by slot of their connection
  exchanges_.for_each([&](base::Handle, Exchange& exchange) {
    if (exchange.life.ended() || exchange.front == nullptr) return;
    const ClientConnection* const client = exchange.front->connection(exchange.client);
    if (client == nullptr) return;
    ExchangeFacts& facts = exchanges[client->self.slot].emplace_back();
    facts.state = lifecycle::name(exchange.stage());
    if (exchange.route != nullptr) facts.route = core_.labels.text(exchange.route->label);
    if (exchange.backend_index != routes::no_backend) {
      facts.backend = exchange.snapshot->model().backends[exchange.backend_index].name;
    }
    if (const LiveEndpoint* const endpoint = endpoints_.find(exchange.endpoint())) {
      facts.endpoint = core_.labels.text(endpoint->label);
      facts.address = endpoint->address;
    }
    facts.age = now - exchange.account.started;
    facts.request_bytes = exchange.request.bytes;
    facts.response_bytes = exchange.response.sent;
  });
  std::vector<ConnectionFacts> all;
  clients_.for_each([&](base::Handle handle, ClientConnection& client) {
    if (client.life.ended() || all.size() >= filter.limit) return;
    ConnectionFacts facts{.handle = handle,
                          .client = client.peer,
                          .listener = client.listener->model.name,
                          .protocol = client.protocol(),
                          .state = client.life.name(),
                          .age = now - client.opened,
                          .in_state = now - client.changed};
    if (const auto found = exchanges.find(handle.slot); found != exchanges.end()) {
      facts.exchanges = std::move(found->second);
    }
    if (filter.matches(facts)) all.push_back(std::move(facts));
  });
  return all;
}

void Worker::end_work(std::uint64_t identity) {
  const LiveEndpoint* const endpoint = endpoints_.find_identity(identity);
  if (endpoint != nullptr) endpoints_.end_work(endpoint->self, base::Cause::operator_ended);
}

}  // namespace ebb::gate
