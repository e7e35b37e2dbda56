#include "observe/self_audit.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <future>

namespace ebb::observe {

namespace {

constexpr std::size_t lines_most = 20;  // per run

std::string text_of(const base::Address& address) { return address.valid() ? address.text() : ""; }

}  // namespace

// The rooms write page by page while the auditor waits. The pages are allocated beforehand, so a worker only copies.
// Further pages take claims beyond the expected number.
struct SelfAudit::Gathering {
  std::mutex mutex;
  std::condition_variable changed;
  Book book;
  std::vector<Claims> spilt;
  std::size_t rooms_missing = 0;

  void add(const Claims& page, bool last) {
    const std::lock_guard lock(mutex);
    if (book.capacity() - book.size() >= page.size()) {
      book.insert(book.end(), page.begin(), page.end());
    } else {
      spilt.push_back(page);
    }
    if (!last) return;
    rooms_missing -= 1;
    changed.notify_one();
  }
};

SelfAudit::SelfAudit(AuditPace pace, EventLog& events, const base::Clock& clock)
    : pace_(pace), events_(events), clock_(clock), rooms_(share({})) {
  report_.every = pace.every;
}

void SelfAudit::start(std::vector<AuditedRoom> rooms) {
  if (pace_.every == base::Duration::zero()) return;
  set_rooms(std::move(rooms));
  thread_ = std::thread([this] { run(); });
}

void SelfAudit::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  if (thread_.joinable()) thread_.join();
}

AuditReport SelfAudit::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

void SelfAudit::run() {
  pthread_setname_np(pthread_self(), "audit");
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19);  // this thread only: Linux keeps the priority per thread
  while (wait(pace_.every)) run_once();
}

bool SelfAudit::wait(base::Duration duration) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_for(lock, duration, [this] { return stopping_; });
}

void SelfAudit::run_once() {
  if (auto seen = look_twice()) return settle(std::move(*seen));
  const std::lock_guard lock(mutex_);
  if (!stopping_) report_.runs_incomplete += 1;
}

// The second look is needed only if the first finds a difference.
std::optional<SelfAudit::Look> SelfAudit::look_twice() {
  auto first = look();
  if (!first || first->differences.empty()) return first;
  if (!wait(pace_.between)) return std::nullopt;
  auto second = look();
  if (second) {
    second->differences = persisting(std::move(first->differences), std::move(second->differences));
  }
  return second;
}

// The books first: observe/audit.h says why a second look then suffices.
std::optional<SelfAudit::Look> SelfAudit::look() {
  std::optional<Book> book = read_books();
  if (!book) return std::nullopt;
  const OpenDescriptors open = open_descriptors();
  if (open.empty()) return std::nullopt;
  Look seen{.book = std::move(*book), .open = open.size(), .differences = {}};
  seen.differences = compare(seen.book, open);
  return seen;
}

std::optional<Book> SelfAudit::read_books() {
  const auto gathering = std::make_shared<Gathering>();
  gathering->rooms_missing = rooms_->size();
  const std::uint64_t before = report().open;
  gathering->book.reserve(before + before / 4 + 1024);
  for (std::uint32_t room = 0; room < rooms_->size(); ++room) {
    read_on(gathering, rooms_, room, (*rooms_)[room].walk(), {});
  }
  std::unique_lock lock(gathering->mutex);
  const bool complete =
      gathering->changed.wait_for(lock, pace_.patience, [&gathering] { return gathering->rooms_missing == 0; });
  if (!complete) return std::nullopt;
  for (const Claims& page : gathering->spilt) {
    gathering->book.insert(gathering->book.end(), page.begin(), page.end());
  }
  return std::move(gathering->book);
}

// The next step queues behind the thread's other tasks and writes on the same page.
void SelfAudit::read_on(const std::shared_ptr<Gathering>& gathering, const Rooms& rooms, std::uint32_t room,
                        AuditedRoom::Step step, Claims page) {
  auto task = [gathering, rooms, room, step = std::move(step), page = std::move(page)]() mutable {
    page.clear();
    const bool more = step(page);
    for (Claim& claim : page) claim.room = room;
    gathering->add(page, !more);
    if (more) read_on(gathering, rooms, room, std::move(step), std::move(page));
  };
  const auto& post = (*rooms)[room].post;
  if (post) return post(std::move(task));
  task();
}

void SelfAudit::settle(Look look) {
  const AuditReport before = report();
  AuditReport now{.every = pace_.every,
                  .runs = before.runs + 1,
                  .runs_incomplete = before.runs_incomplete,
                  .last_at = clock_.wall(),
                  .open = look.open,
                  .differences = look.differences.size()};
  for (const Claim& claim : look.book)
    now.claimed[static_cast<std::size_t>(claim.kind)] += claim.descriptor < 0 ? 0 : 1;
  if (look.differences.size() > AuditReport::shown_max) look.differences.resize(AuditReport::shown_max);
  std::size_t told = 0;
  for (const Difference& difference : look.differences) {
    const auto known = std::ranges::find(before.shown, difference.identity(),
                                         [](const FoundDifference& one) { return one.difference.identity(); });
    now.shown.push_back(known != before.shown.end() ? *known : investigate(difference));
    if (known == before.shown.end() && ++told <= lines_most) tell_of(now.shown.back());
  }
  if (now.differences != before.differences) {
    events_.warning("audit_differs", {{"differences", std::to_string(now.differences)},
                                      {"before", std::to_string(before.differences)},
                                      {"descriptors", std::to_string(now.open)}});
  }
  remember(look.book);
  const std::lock_guard lock(mutex_);
  report_ = std::move(now);
}

FoundDifference SelfAudit::investigate(const Difference& difference) {
  FoundDifference found{.difference = difference, .found_at = clock_.wall(), .last_held = last_claim(difference)};
  if (difference.descriptor >= 0) found.kernel = describe_descriptor(difference.descriptor);
  if (!found.last_held) return found;
  const Claim& claim = *found.last_held;
  found.held_by = (*rooms_)[claim.room].name;
  found.history = ask(claim);
  if (claim.opened != base::Instant{}) found.history.age = clock_.now() - claim.opened;
  return found;
}

void SelfAudit::remember(const Book& book) {
  remembered_.clear();
  remembered_.reserve(book.size());
  for (const Claim& claim : book) {
    if (claim.inode == 0) continue;
    const auto opened = std::chrono::duration_cast<std::chrono::seconds>(claim.opened.time_since_epoch()).count();
    remembered_.push_back({static_cast<std::uint32_t>(claim.inode), claim.descriptor,
                           static_cast<std::uint32_t>(opened), static_cast<std::uint16_t>(claim.room), claim.kind});
  }
}

std::optional<Claim> SelfAudit::last_claim(const Difference& difference) const {
  if (difference.kind != DifferenceKind::unclaimed) return difference.claim;
  const auto held = std::ranges::find_if(remembered_, [&difference](const Remembered& one) {
    return one.descriptor == difference.descriptor && one.inode == difference.inode;
  });
  if (held == remembered_.end()) return std::nullopt;
  return Claim{.descriptor = held->descriptor,
               .kind = held->kind,
               .room = held->room,
               .inode = held->inode,
               .opened = base::Instant(std::chrono::seconds{held->opened_seconds})};
}

SocketHistory SelfAudit::ask(const Claim& claim) {
  const AuditedRoom& room = (*rooms_)[claim.room];
  if (!room.tell || !room.post) return {};
  const auto answer = std::make_shared<std::promise<SocketHistory>>();
  std::future<SocketHistory> told = answer->get_future();
  room.post([answer, rooms = rooms_, claim] { answer->set_value((*rooms)[claim.room].tell(claim)); });
  if (told.wait_for(pace_.patience) != std::future_status::ready) return {};
  return told.get();
}

void SelfAudit::tell_of(const FoundDifference& found) {
  const Difference& difference = found.difference;
  const std::optional<Claim>& held = found.last_held;
  const bool failed = held && held->failure != base::Cause::none;
  const base::Duration age = found.history.age;
  events_.error("audit_difference", {{"difference", facts(difference.kind).name},
                                     {"meaning", facts(difference.kind).words},
                                     {"descriptor", std::to_string(difference.descriptor)},
                                     {"inode", std::to_string(difference.inode)},
                                     {"object", found.kernel.object},
                                     {"local", text_of(found.kernel.local)},
                                     {"remote", text_of(found.kernel.remote)},
                                     {"tcp_state", found.kernel.tcp_state},
                                     {"held_by", found.held_by},
                                     {"held_as", held ? name(held->kind) : ""},
                                     {"held_inode", held ? std::to_string(held->inode) : ""},
                                     {"whose", found.history.whose},
                                     {"peer", text_of(found.history.peer)},
                                     {"state", found.history.state},
                                     {"failure", failed ? base::name(held->failure) : ""},
                                     {"age_ms", age > base::Duration::zero() ? std::to_string(base::to_ms(age)) : ""}});
}

}  // namespace ebb::observe
