// Compares, every few seconds, what the router's rooms say they hold open with what the kernel says (observe/audit.h),
// in a thread of its own with the lowest priority: workers hand out their book in steps of a few hundred sockets
// between two rounds, and everything else happens here.
//
//   look: books of all rooms -> descriptors -> compare     something differs? a second later, look again
//   what differs both times: a line in the event log, the gauge, /api/v1/audit
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

// Who holds descriptors. Its functions may be called as long as post() runs tasks.
struct AuditedRoom {
  using Step = std::move_only_function<bool(Claims& out)>;  // true: there is more

  std::string name;
  std::function<void(std::move_only_function<void()> task)> post;  // to its thread; null: any thread may ask
  std::function<Step()> walk;                                      // steps run on that thread
  std::function<SocketHistory(const Claim&)> tell{};
};

struct AuditPace {
  base::Duration every = std::chrono::seconds{10};    // 0: never
  base::Duration between = std::chrono::seconds{1};   // two looks
  base::Duration patience = std::chrono::seconds{5};  // with one room
};

class SelfAudit {
 public:
  SelfAudit(AuditPace pace, EventLog& events, const base::Clock& clock);
  ~SelfAudit() { stop(); }

  void start(std::vector<AuditedRoom> rooms);
  void stop();
  AuditReport report() const;  // any thread

  // One run, on the caller's thread; for those who do not start().
  void set_rooms(std::vector<AuditedRoom> rooms) { rooms_ = share(std::move(rooms)); }
  void run_once();

 private:
  struct Gathering;
  using Rooms = std::shared_ptr<const std::vector<AuditedRoom>>;  // shared with the steps that are on their way

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
  std::vector<Remembered> remembered_;  // of the run before: whose was what nobody holds now?
  mutable std::mutex mutex_;            // guards what follows
  std::condition_variable stopped_;
  bool stopping_ = false;
  AuditReport report_;
  std::thread thread_;
};

}  // namespace ebb::observe
