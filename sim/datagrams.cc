#include "sim/datagrams.h"

#include <charconv>

namespace ebb::sim {

namespace {

constexpr std::uint64_t stream_of_datagrams = 1u << 30;  // contents apart from those of exchanges

std::string text_of(char kind, std::uint64_t number, std::size_t size) {
  std::string text = kind + std::to_string(number) + "|";
  return text +
         Content(stream_of_datagrams + number, kind == 'Q' ? Direction::request : Direction::response).text(0, size);
}

std::size_t place_of(const std::string& address) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : address) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash >> 8;
}

}  // namespace

// ---- the network -----------------------------------------------------------------------------------------------

base::Handle DatagramNetwork::bind(const base::Address& address, Socket socket) {
  const base::Handle handle = bound_.emplace();
  *bound_.find(handle) = {address, std::move(socket)};
  return handle;
}

void DatagramNetwork::close(base::Handle socket) { bound_.erase(socket); }

void DatagramNetwork::send(base::Handle from, const base::Address& source, const base::Address& to,
                           std::string_view bytes) {
  if (world_.rng().chance(loss_)) return world_.note("datagram is lost", from.slot, bytes.size());
  world_.note("datagram", from.slot, bytes.size());
  world_.after(microseconds{world_.rng().between(50, 2000)},
               [this, from, came = Came{source, to, std::string(bytes)}] { arrive(from, came); });
}

// SO_REUSEPORT: as long as the group stays the same, one peer's go to the same socket of it.
void DatagramNetwork::arrive(base::Handle from, const Came& came) {
  std::vector<base::Handle> group;
  bound_.for_each([&](base::Handle handle, const Bound& bound) {
    if (bound.address == came.to) group.push_back(handle);
  });
  if (!group.empty()) {
    const std::size_t which = place_of(came.from.text()) % group.size();
    return bound_.find(group[which])->socket.came(came);
  }
  Bound* sender = bound_.find(from);
  if (sender != nullptr && sender->socket.refused) sender->socket.refused();
}

// ---- the judge -------------------------------------------------------------------------------------------------

std::string DatagramLedger::ask(std::size_t client, std::size_t bytes) {
  datagrams_.push_back({.client = client, .bytes = bytes});
  return text_of('Q', datagrams_.size() - 1, bytes);
}

DatagramLedger::Datagram* DatagramLedger::find(std::string_view bytes, char kind, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(bytes.data() + 1, bytes.data() + bytes.size(), number);
  const bool known = !bytes.empty() && bytes.front() == kind && error == std::errc{} && number < datagrams_.size();
  Datagram* datagram = known ? &datagrams_[number] : nullptr;
  if (datagram != nullptr && bytes == text_of(kind, number, datagram->bytes)) return datagram;
  wrong("one that nobody has sent");
  return nullptr;
}

std::string DatagramLedger::seen(std::string_view bytes, const std::string& endpoint, bool may_get_work) {
  std::uint64_t number = 0;
  Datagram* datagram = find(bytes, 'Q', number);
  if (datagram == nullptr) return {};
  world_.note("datagram is seen", number);
  if (std::exchange(datagram->seen, true)) wrong("one came twice");
  if (!may_get_work) wrong("one reached an endpoint that had left");
  datagram->endpoint = endpoint;
  return text_of('A', number, datagram->bytes);
}

void DatagramLedger::answered(std::size_t client, std::string_view bytes) {
  std::uint64_t number = 0;
  Datagram* datagram = find(bytes, 'A', number);
  if (datagram == nullptr) return;
  world_.note("datagram is answered", number);
  if (!datagram->seen) wrong("an answer to one that no endpoint has got");
  if (datagram->client != client) wrong("an answer went to another client");
  if (std::exchange(datagram->answered, true)) wrong("an answer came twice");
  answers_ += 1;
}

std::uint64_t DatagramLedger::unanswered(std::size_t client) const {
  std::uint64_t count = 0;
  for (const Datagram& datagram : datagrams_) count += datagram.client == client && !datagram.answered ? 1 : 0;
  return count;
}

std::size_t DatagramLedger::endpoints_of(std::size_t client) const {
  std::map<std::string, int> reached;
  for (const Datagram& datagram : datagrams_)
    if (datagram.client == client && datagram.seen) reached[datagram.endpoint] += 1;
  return reached.size();
}

// ---- the actors ------------------------------------------------------------------------------------------------

DatagramClient::DatagramClient(World& world, DatagramNetwork& network, DatagramLedger& ledger, std::size_t number,
                               const base::Address& from, const base::Address& to)
    : world_(world), network_(network), ledger_(ledger), number_(number), from_(from), to_(to) {
  socket_ = network_.bind(from, {.came = [this](const DatagramNetwork::Came& came) {
                            if (!(came.from == to_))
                              world_.fail("datagrams: an answer came from another address than was asked");
                            ledger_.answered(number_, came.bytes);
                          }});
}

void DatagramClient::send(std::uint32_t count, Duration gap) {
  if (count == 0) return;
  const std::size_t bytes = world_.rng().below(world_.rng().chance(100) ? 9000 : 500);
  network_.send(socket_, from_, to_, ledger_.ask(number_, bytes));
  world_.after(world_.draw({}, 2 * gap), [this, count, gap] { send(count - 1, gap); });
}

DatagramEndpoint::DatagramEndpoint(World& world, DatagramNetwork& network, DatagramLedger& ledger,
                                   const base::Address& address, std::function<bool()> may_get_work)
    : world_(world), network_(network), ledger_(ledger), address_(address), may_get_work_(std::move(may_get_work)) {}

void DatagramEndpoint::open() {
  if (std::exchange(open_, true)) return;
  socket_ = network_.bind(address_, {.came = [this](const DatagramNetwork::Came& came) { answer(came); }});
}

void DatagramEndpoint::close() {
  if (std::exchange(open_, false)) network_.close(socket_);
}

void DatagramEndpoint::answer(const DatagramNetwork::Came& came) {
  const std::string text = ledger_.seen(came.bytes, address_.text(), may_get_work_());
  if (text.empty()) return;
  world_.after(microseconds{world_.rng().below(5000)}, [this, to = came.from, text] {
    if (open_) network_.send(socket_, address_, to, text);
  });
}

}  // namespace ebb::sim
