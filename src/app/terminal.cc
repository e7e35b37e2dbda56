#include "app/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace ebb::app {
namespace {

using census::Key;

constexpr std::string_view enter_screen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view leave_screen = "\x1b[?25h\x1b[?1049l";
constexpr int crashes[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

termios before;  // of the one Terminal; a signal handler has no other access

void write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Calls only async-signal-safe functions.
void give_back() {
  write_all(leave_screen);
  ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

void on_crash(int number) {
  give_back();
  ::raise(number);  // SA_RESETHAND: the signal's default action
}

sigset_t ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGWINCH}) ::sigaddset(&set, number);
  return set;
}

struct Sequence {
  std::string_view bytes;
  Key key;
};
constexpr Sequence sequences[] = {{"\x1b[A", Key::up},      {"\x1b[B", Key::down},     {"\x1bOA", Key::up},
                                  {"\x1bOB", Key::down},    {"\x1b[5~", Key::page_up}, {"\x1b[6~", Key::page_down},
                                  {"\x1b[H", Key::home},    {"\x1b[F", Key::end},      {"\x1b[1~", Key::home},
                                  {"\x1b[4~", Key::end},    {"\r", Key::enter},        {"\n", Key::enter},
                                  {"\x7f", Key::backspace}, {"\b", Key::backspace}};

}  // namespace

std::expected<std::unique_ptr<Terminal>, std::string> Terminal::open() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0 || ::tcgetattr(STDIN_FILENO, &before) != 0) {
    return std::unexpected("--watch needs a terminal; without one, repeat the call, or use --samples");
  }
  const sigset_t set = ending_signals();
  reactor::Descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals || ::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return std::unexpected(std::strerror(errno));
  struct sigaction action{};
  action.sa_handler = on_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : crashes) ::sigaction(number, &action, nullptr);

  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON | ICRNL);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) != 0) return std::unexpected(std::strerror(errno));
  write_all(enter_screen);
  return std::unique_ptr<Terminal>(new Terminal(std::move(signals)));
}

Terminal::~Terminal() { give_back(); }

Terminal::Size Terminal::size() const {
  winsize found{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &found) != 0 || found.ws_row == 0 || found.ws_col == 0) return {};
  return {found.ws_row, found.ws_col};
}

// A lone escape is the key if nothing follows in the same read.
Terminal::Event Terminal::next_key() {
  Event event{.kind = Event::Kind::key};
  for (const Sequence& sequence : sequences) {
    if (!typed_.starts_with(sequence.bytes)) continue;
    typed_.erase(0, sequence.bytes.size());
    event.key = sequence.key;
    return event;
  }
  const char first = typed_.front();
  if (first == '\x1b') {
    typed_.clear();  // with the rest of an unknown sequence
    event.key = Key::escape;
    return event;
  }
  typed_.erase(0, 1);
  if (first == '\x03') return {.kind = Event::Kind::end};
  event.character = first;
  if (first < ' ' || first > '~') event.kind = Event::Kind::timeout;
  return event;
}

Terminal::Event Terminal::wait(base::Duration timeout) {
  if (!typed_.empty()) return next_key();
  pollfd waiting[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = signals_.get(), .events = POLLIN}};
  const auto ms = std::max<std::int64_t>(0, base::to_ms(timeout));
  if (::poll(waiting, 2, static_cast<int>(std::min<std::int64_t>(ms, 60'000))) <= 0) return {};
  if (waiting[1].revents != 0) {
    signalfd_siginfo signal{};
    if (::read(signals_.get(), &signal, sizeof(signal)) == sizeof(signal)) {
      return {.kind = signal.ssi_signo == SIGWINCH ? Event::Kind::resized : Event::Kind::end};
    }
  }
  char bytes[64];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (got <= 0) return {.kind = Event::Kind::end};  // the terminal is gone
  typed_.assign(bytes, static_cast<std::size_t>(got));
  return next_key();
}

void Terminal::show(std::span<const std::string> lines) {
  std::string frame = "\x1b[H";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    // The table's heading is shown inverse; every line erases its old rest.
    const bool heading = i == 2;
    frame += (i == 0 ? "" : "\r\n") + std::string(heading ? "\x1b[7m" : "") + lines[i] + (heading ? "\x1b[0m" : "") +
             "\x1b[K";
  }
  frame += "\x1b[J";
  write_all(frame);
}

}  // namespace ebb::app
