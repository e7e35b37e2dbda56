// Active checks: the endpoints of backends that ask for it are asked all the time, each by its home worker, whether
// they have work or not, and also while they drain. Owns a Check for each; what they find goes to gate/health.
//
// Before: gate/endpoints. Next: gate/check_connection.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>

#include "gate/check_connection.h"
#include "gate/core.h"

namespace ebb::gate {

struct LiveEndpoint;

class Checks {
 public:
  explicit Checks(Core& core) : core_(core) {}

  // The backend's endpoints, or what they are asked, may have changed.
  void follow(base::Handle view);
  // Now instead of when it is due. False: this endpoint is not checked.
  bool ask_now(std::uint64_t identity);
  // The one that is under way takes much longer than they used to. Told once for each.
  bool overdue(std::uint64_t identity);
  void stop(std::uint64_t identity);  // the endpoint has left
  void stop();                        // for good

  void on_connected(base::Handle check) {
    on_event(check, [](CheckConnection& connection) { return connection.on_connected(); });
  }
  void on_received(base::Handle check, base::Slice bytes) {
    on_event(check, [&bytes](CheckConnection& connection) { return connection.on_received(std::move(bytes)); });
  }
  void on_peer_finished(base::Handle check) {
    on_event(check, [](CheckConnection& connection) { return connection.on_peer_finished(); });
  }
  void on_failed(base::Handle check, base::Cause cause) {
    on_event(check, [cause](CheckConnection& connection) { return connection.on_failed(cause); });
  }
  void on_timer(base::Handle check);

  // Nothing where the endpoint is not checked, or not by this worker.
  std::optional<CheckFacts> facts(std::uint64_t identity) const;
  std::size_t connections() const;

  // For the book.
  bool owns(base::Handle check, reactor::SocketId socket) const {
    const Check* known = checks_.find(check);
    return known != nullptr && known->connection && known->connection->socket() == socket;
  }
  std::uint64_t checked(base::Handle check) const {  // 0: there is no such check
    const Check* known = checks_.find(check);
    return known == nullptr ? 0 : known->identity;
  }
  template <class Callback>  // (handle, socket)
  std::uint32_t for_some_sockets(std::uint32_t from, std::uint32_t most, Callback&& callback) {
    return checks_.for_some(from, most, [&callback](base::Handle handle, const Check& check) {
      if (check.connection) callback(handle, check.connection->socket());
    });
  }

 private:
  struct Check {
    base::Handle self;
    std::uint64_t identity = 0;
    base::Timer timer;  // until it is due; while it is under way: its time-out
    lifecycle::ActiveCheck life;
    base::Duration every{};
    base::Duration usual{};  // of those that passed
    bool told_overdue = false;
    std::unique_ptr<CheckConnection> connection;  // while it is under way
    CheckFacts facts;
  };

  template <class Event>
  void on_event(base::Handle handle, Event&& event) {
    Check* check = checks_.find(handle);
    if (check == nullptr || !check->connection) return;
    if (const CheckConnection::Ending ending = event(*check->connection)) end(*check, *ending);
  }
  void follow(const LiveEndpoint& endpoint, const CheckTarget* target);
  void begin(Check& check);
  void end(Check& check, const CheckResult& result);
  void count(Check& check, const CheckTarget& target, const CheckResult& result);
  std::shared_ptr<const CheckTarget> target_of(std::uint64_t identity) const;

  Core& core_;
  base::SlotMap<Check> checks_;
  std::unordered_map<std::uint64_t, base::Handle> by_identity_;
};

}  // namespace ebb::gate
