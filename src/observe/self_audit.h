// Compares the descriptors that the router's rooms claim with those that the kernel lists (observe/audit.h). Runs every
// few seconds in its own thread at the lowest priority. Workers hand out their book in steps of a few hundred sockets
// between two rounds; all other work happens here.
//
//   look: books of all rooms -> descriptors -> compare     a difference? a second later, look again
//   same difference twice: a line in the event log, the gauge, /api/v1/audit
//
// Owned by app; stopped before the rooms are.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "observe/audit.h"
#include "observe/event_log.h"

namespace ebb::observe {

// A holder of descriptors. Its functions may be called as long as post() runs tasks.
struct AuditedRoom {
  using Step = std::move_only_function<bool(Claims& out)>;  // true: there are more claims

  std::string name;
  std::function<void(std::move_only_function<void()> task)> post;  // to the room's thread; null: any thread will do
  std::function<Step()> walk;                                      // steps run on that thread
  std::function<SocketHistory(const Claim&)> tell{};
};

struct AuditPace {
  base::Duration every = std::chrono::seconds{10};    // 0: never
  base::Duration between = std::chrono::seconds{1};   // between two looks
  base::Duration patience = std::chrono::seconds{5};  // how long to wait for one room
};

class SelfAudit {
 public:
  SelfAudit(AuditPace pace, EventLog& events, const base::Clock& clock);
  ~SelfAudit() { stop(); }

  void start(std::vector<AuditedRoom> rooms);
  void stop();
  AuditReport report() const;  // any thread

  // For callers without start(): one run, on the caller's thread.
  void set_rooms(std::vector<AuditedRoom> rooms) { rooms_ = share(std::move(rooms)); }
  void run_once();

 private:
  struct Gathering;
  using Rooms = std::shared_ptr<const std::vector<AuditedRoom>>;  // shared with the steps in flight

  struct Remembered {
    std::uint32_t inode;  // of a socket
    int descriptor;
    std::uint32_t opened_seconds;
    std::uint16_t room;
    ClaimKind kind;
  };

  static Rooms share(std::vector<AuditedRoom> rooms) {
    return std::make_shared<const std::vector<AuditedRoom>>(std::move(rooms));
  }
  void run();
  bool wait(base::Duration duration);  // false: stopping
  std::optional<Book> read_books();
  static void read_on(const std::shared_ptr<Gathering>& gathering, const Rooms& rooms, std::uint32_t room,
                      AuditedRoom::Step step, Claims page);
  struct Look {
    Book book;
    std::uint64_t open = 0;
    std::vector<Difference> differences;
  };
  std::optional<Look> look();
  std::optional<Look> look_twice();
  void settle(Look look);
  void remember(const Book& book);
  FoundDifference investigate(const Difference& difference);
  std::optional<Claim> last_claim(const Difference& difference) const;
  SocketHistory ask(const Claim& claim);
  void tell_of(const FoundDifference& found);

  const AuditPace pace_;
  EventLog& events_;
  const base::Clock& clock_;
  Rooms rooms_;
  std::vector<Remembered> remembered_;  // of the previous run: the last holder of a descriptor that is now unclaimed
  mutable std::mutex mutex_;            // guards the members below
  std::condition_variable stopped_;
  bool stopping_ = false;
  AuditReport report_;
  std::thread thread_;
};

}  // namespace ebb::observe
