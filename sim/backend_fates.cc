// What befalls the process of an endpoint, and its host: ends of all kinds, illnesses, a broken way; see backend.h.
#include <charconv>

#include "sim/backend.h"

namespace ebb::sim {

namespace {

constexpr std::uint32_t gray_share = 500;  // per thousand: requests that get no answer

// Of a head that nobody has read; 0: so little of it has come that it does not say.
std::uint64_t exchange_in(std::string_view unread) {
  std::size_t at = unread.find(" /");
  if (at != std::string_view::npos) at = unread.find('/', at + 2);
  if (at == std::string_view::npos) return 0;
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(unread.data() + at + 1, unread.data() + unread.size(), id);
  return error == std::errc{} && end != unread.data() + unread.size() ? id : 0;
}

}  // namespace

bool Backend::idle(const Connection& connection) const { return connection.exchange == 0 && !connection.tunnel; }

std::vector<base::Handle> Backend::all() {
  std::vector<base::Handle> handles;
  connections_.for_each([&handles](base::Handle handle, Connection&) { handles.push_back(handle); });
  return handles;
}

// A request that has come and was not read is lost without a trace: no router can know whether it was.
void Backend::close_idle(Connection& connection, bool by_reset) {
  world_.note("backend closes idle", connection.line->number());
  std::string unread(connection.in.view());
  const std::string in_kernel = connection.line->read(SIZE_MAX);
  unread += in_kernel;
  if (const std::uint64_t id = exchange_in(unread); id != 0) {
    ledger_.excuse_unrepeatable(id, "swallowed by a process that closed its connection");
  } else if (!unread.empty() || connection.reader.begun() || connection.line->torn()) {
    ledger_.swallowed(backend_, 1);
  }
  // A reset destroys what is still on its way of the last answer.
  const bool resets = by_reset || !in_kernel.empty();
  if (resets) ledger_.excuse(connection.last_exchange, "reset behind the answer");
  if (resets) ledger_.disturb(name_);
  drop(connection, resets);
}

void Backend::start() {
  if (!port_) warm_at_ = busy_until_ = {};
  ends_ = false;
  ill_ = Ill::none;
  open();
}

void Backend::terminate() {
  world_.note("terminate", address_.port());
  ledger_.unwell(backend_);
  ledger_.disturb(name_);
  ends_ = true;
  refuse();
  for (const base::Handle handle : all()) {
    Connection& connection = *connections_.find(handle);
    if (idle(connection) && !connection.reader.begun() && !connection.line->is_stream()) close_idle(connection, false);
  }
  for (const auto& trunk : open_trunks()) trunk->go_away();
}

void Backend::kill() {
  world_.note("kill", address_.port());
  excuse_work("killed in the middle of its answer");
  refuse();
  swallow();
  for (const base::Handle handle : all()) {
    Connection& connection = *connections_.find(handle);
    if (idle(connection)) {
      close_idle(connection, false);
    } else {
      vanish(connection);
    }
  }
  for (const auto& trunk : open_trunks()) trunk->end(Trunk::End::drop);
  ill_ = Ill::none;
}

void Backend::fall_ill(Ill ill) {
  world_.note("falls ill", address_.port(), static_cast<std::uint64_t>(ill));
  excuse_work("fell ill in the middle of its answer");
  ill_ = ill;
  for (const auto& trunk : open_trunks()) trunk->freeze(ill == Ill::frozen);
  if (ill != Ill::resets) return;
  swallow();
  for (const base::Handle handle : all()) {
    Connection& connection = *connections_.find(handle);
    if (idle(connection)) {
      close_idle(connection, true);
    } else {
      drop(connection, true);
    }
  }
  for (const auto& trunk : open_trunks()) trunk->end(Trunk::End::reset);
}

// What its kernel has of requests on streams, and it has not looked at, is lost with it.
void Backend::swallow() {
  for (const auto& trunk : open_trunks()) {
    trunk->take_all();
    if (trunk->torn()) ledger_.swallowed(backend_, 1);
  }
}

void Backend::recover() {
  if (ill_ == Ill::none) return;
  world_.note("recovers", address_.port());
  ill_ = Ill::none;
  for (const auto& trunk : open_trunks()) trunk->freeze(false);
  while (port_ && network_.waiting(port_)) accept_one();
  for (const base::Handle handle : all()) {
    Connection& connection = *connections_.find(handle);
    schedule(connection);
    if (!std::exchange(connection.answer_due, false) || connection.line->error() != 0) continue;
    answer(connection, *ledger_.find(connection.exchange));
  }
}

bool Backend::hangs() { return ill_ == Ill::mute || (ill_ == Ill::gray && rng_.chance(gray_share)); }

void Backend::lose_way(Way way) {
  excuse_work("cut off in the middle of its answer");
  network_.set_way(address_, way);
}

void Backend::find_way() {
  if (network_.way_to(address_) != Way::open) network_.set_way(address_, Way::open);
}

std::vector<std::uint64_t> Backend::in_hand() {
  std::vector<std::uint64_t> work;
  connections_.for_each([&work](base::Handle, const Connection& connection) {
    const bool works = connection.exchange != 0 && connection.answer != Answer::written;
    if (works && !connection.line->deserted()) work.push_back(connection.exchange);
  });
  return work;
}

// What it had begun to answer, and what may not be asked of another.
void Backend::excuse_work(const char* why) {
  ledger_.unwell(backend_);
  ledger_.disturb(name_);
  ledger_.fell(backend_, name_);
  ledger_.excuse_begun_at(name_, why);
}

}  // namespace ebb::sim
