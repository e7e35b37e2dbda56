// The writer thread and its sleep. Under traffic the writer naps a few milliseconds between rounds, and only a ring
// that is more than half full cuts a nap short. After a nap without lines it sleeps, and the next line pays for one
// wake-up. A worker therefore makes at most about one system call per nap, not one per line.
#include "observe/access_log.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <deque>
#include <system_error>
#include <thread>

#include "base/clock.h"
#include "observe/byte_ring.h"
#include "observe/log_file.h"
#include "observe/text_escape.h"

namespace ebb::observe {
namespace {

constexpr std::size_t ring_bytes = std::size_t{1} << 20;
constexpr int nap_ms = 5;
constexpr int flush_tries_max = 10;  // waits of LogFile::poll_ms for a stalled reader at a file's end
constexpr int reader_wait_ms = 100;  // between two checks whether a named pipe has a reader

// An eventfd: wake() is safe from any thread and from signal handlers.
class Alarm {
 public:
  Alarm() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() {
    if (fd_ >= 0) ::close(fd_);
  }
  bool valid() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }
  void wake() const {
    const std::uint64_t one = 1;
    // Fails only if the counter is full; then the sleeper is awake anyway.
    [[maybe_unused]] const ssize_t ignored = ::write(fd_, &one, sizeof one);
  }
  void wait(int timeout_ms) const {
    pollfd readable{.fd = fd_, .events = POLLIN, .revents = 0};
    if (poll(&readable, 1, timeout_ms) <= 0) return;
    std::uint64_t count;
    [[maybe_unused]] const ssize_t ignored = ::read(fd_, &count, sizeof count);
  }

 private:
  int fd_;
};

class ThreadedLog final : public AccessLog {
 public:
  ThreadedLog(std::string path, std::size_t rings, LogFormat format);
  ~ThreadedLog() override;
  bool start(std::string& error);

  Ring& ring(std::size_t index) override { return rings_[index]; }
  void reopen() override;
  Losses losses() const override;
  std::vector<int> descriptors() const override { return {file_.descriptor(), alarm_.descriptor()}; }

 private:
  class WorkerRing final : public Ring {
   public:
    explicit WorkerRing(ThreadedLog& log) : log_(log) {}
    bool push(std::string_view line) override {
      if (!bytes_.push(line)) return false;
      log_.wake_if_needed(bytes_);
      return true;
    }

   private:
    friend class ThreadedLog;
    ThreadedLog& log_;
    ByteRing bytes_{ring_bytes};
    std::uint64_t dropped_told_ = 0;  // writer thread only
  };

  enum class Rest : std::uint8_t { none, nap, sleep };

  void wake_if_needed(ByteRing& ring);
  void run();
  void nap();
  void sleep_until_woken();
  bool empty_rings();
  void empty_ring(std::size_t index);
  void tell_dropped(std::size_t index);
  void write(std::string_view lines);
  bool patient();
  void reopen_if_asked();
  bool waits_for_reader(bool stopping);
  bool all_empty() const;

  const std::string path_;
  const LogFormat format_;
  std::deque<WorkerRing> rings_;  // a deque never moves or copies its elements
  LogFile file_;
  Alarm alarm_;
  std::atomic<Rest> rest_ = Rest::none;  // the writer's state; a waker sets it to none
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> reopen_wanted_ = false;
  std::atomic<std::uint64_t> failed_writes_ = 0;
  std::atomic<std::uint64_t> lines_lost_ = 0;
  int flush_tries_ = 0;      // writer thread only, as the members below
  bool open_again_ = false;  // the new file could not be opened; the previous file, if any, stays in use
  std::string wrapped_line_;
  std::thread writer_;
};

ThreadedLog::ThreadedLog(std::string path, std::size_t rings, LogFormat format)
    : path_(std::move(path)), format_(format) {
  for (std::size_t i = 0; i < rings; ++i) rings_.emplace_back(*this);
}

bool ThreadedLog::start(std::string& error) {
  if (!alarm_.valid()) {
    error = "eventfd: " + std::generic_category().message(errno);
    return false;
  }
  const LogFile::Opening opened = file_.open(path_, error);
  if (opened == LogFile::Opening::failed) return false;
  open_again_ = opened != LogFile::Opening::done;
  // The writer blocks all signals: process signals go to the main thread. SIGPIPE goes to the thread that wrote;
  // blocked, it leaves just EPIPE.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  writer_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return true;
}

ThreadedLog::~ThreadedLog() {
  if (!writer_.joinable()) return;
  stopping_.store(true);
  alarm_.wake();
  writer_.join();
}

void ThreadedLog::reopen() {
  reopen_wanted_.store(true);
  alarm_.wake();
}

AccessLog::Losses ThreadedLog::losses() const {
  Losses losses{.failed_writes = failed_writes_.load(), .lines_lost = lines_lost_.load()};
  for (const WorkerRing& ring : rings_) losses.lines_dropped += ring.bytes_.dropped();
  return losses;
}

// Pairs with sleep_until_woken(): either this thread sees the sleeping writer, or the writer sees the line. Both store
// first and then look, which needs a full fence on both sides.
void ThreadedLog::wake_if_needed(ByteRing& ring) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const Rest rest = rest_.load(std::memory_order_relaxed);
  if (rest == Rest::none || (rest == Rest::nap && !ring.pressed())) return;
  if (rest_.exchange(Rest::none) != Rest::none) alarm_.wake();
}

void ThreadedLog::run() {
  for (;;) {
    const bool stopping = stopping_.load();  // read before the rings: lines pushed earlier are still written
    reopen_if_asked();
    if (waits_for_reader(stopping)) continue;
    const bool wrote = empty_rings();
    if (stopping && !wrote) return;
    if (stopping) continue;
    if (wrote) {
      nap();
    } else {
      sleep_until_woken();
    }
  }
}

void ThreadedLog::nap() {
  rest_.store(Rest::nap);
  alarm_.wait(nap_ms);
  rest_.store(Rest::none);
}

void ThreadedLog::sleep_until_woken() {
  rest_.store(Rest::sleep);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (all_empty()) alarm_.wait(-1);
  rest_.store(Rest::none);
}

bool ThreadedLog::all_empty() const {
  return std::ranges::all_of(rings_, [](const WorkerRing& ring) { return ring.bytes_.empty(); });
}

bool ThreadedLog::empty_rings() {
  bool wrote = false;
  for (std::size_t index = 0; index < rings_.size(); ++index) {
    if (!rings_[index].bytes_.empty()) {
      wrote = true;
      empty_ring(index);
    }
    tell_dropped(index);
  }
  return wrote;
}

// One pass over the ring's content: a busy ring must not starve the others. A line that wraps around the ring's end is
// joined first, so that the file gets whole lines only.
void ThreadedLog::empty_ring(std::size_t index) {
  ByteRing& bytes = rings_[index].bytes_;
  const std::string_view piece = bytes.readable();
  const std::size_t whole = piece.rfind('\n') + 1;  // 0 if there is none
  write(piece.substr(0, whole));
  wrapped_line_.assign(piece.substr(whole));
  bytes.release(piece.size());
  if (wrapped_line_.empty()) return;
  const std::string_view rest = bytes.readable();
  const std::string_view rest_of_line = rest.substr(0, rest.find('\n') + 1);
  wrapped_line_ += rest_of_line;
  write(wrapped_line_);
  bytes.release(rest_of_line.size());
}

void ThreadedLog::tell_dropped(std::size_t index) {
  WorkerRing& ring = rings_[index];
  const std::uint64_t dropped = ring.bytes_.dropped();
  if (dropped == ring.dropped_told_) return;
  const std::string count = std::to_string(dropped - ring.dropped_told_);
  const std::string worker = std::to_string(index);
  ring.dropped_told_ = dropped;

  std::string now;
  append_rfc3339(now, base::SystemClock().wall());
  if (format_ == LogFormat::json) {
    write(R"({"time":")" + now + R"(","event":"lines_dropped","worker":)" + worker + R"(,"count":)" + count + "}\n");
  } else {
    write("# " + now + " lines dropped by worker " + worker + ": " + count + "\n");
  }
}

void ThreadedLog::write(std::string_view lines) {
  if (lines.empty()) return;
  const std::size_t taken = file_.write(lines, [this] { return patient(); });
  if (taken == lines.size()) return;
  const std::string_view lost = lines.substr(taken);
  lines_lost_ += static_cast<std::uint64_t>(std::ranges::count(lost, '\n'));
  failed_writes_ += 1;  // last: a thread that sees it sees the lines too
}

// The writer waits for a stalled reader while the rings drop lines. A stalled reader must not delay the end of the
// process or the opening of the next file.
bool ThreadedLog::patient() {
  const bool hurries = stopping_.load() || reopen_wanted_.load();
  return !hurries || ++flush_tries_ <= flush_tries_max;
}

// Each round retries a file that could not be opened: its folder or its reader may appear.
void ThreadedLog::reopen_if_asked() {
  const bool asked = reopen_wanted_.load();
  if (!asked && !open_again_) return;
  if (asked) {
    if (file_.is_open()) empty_rings();  // the rings' lines belong to the old file
    flush_tries_ = 0;
    reopen_wanted_.store(false);  // before the opening, so that a later request opens it again
  }
  std::string error;
  open_again_ = file_.open(path_, error) != LogFile::Opening::done;
  if (asked && open_again_) failed_writes_ += 1;
}

// A named pipe without a reader so far: lines stay in the rings, which drop lines when full.
bool ThreadedLog::waits_for_reader(bool stopping) {
  if (file_.is_open() || stopping) return false;
  alarm_.wait(reader_wait_ms);
  return true;
}

}  // namespace

std::unique_ptr<AccessLog> AccessLog::open(const std::string& path, std::size_t rings, std::string& error,
                                           LogFormat format) {
  auto log = std::make_unique<ThreadedLog>(path, rings, format);
  if (!log->start(error)) return nullptr;
  return log;
}

}  // namespace ebb::observe
