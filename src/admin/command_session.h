// One connection of the runtime socket: lines to commands, replies to bytes, as in HAProxy; serve/server provides
// sockets and time.
//
//   one line, commands separated by `;` -> a reply for each, then the end
//   after `prompt`: line after line, each reply followed by "\n> ", until `quit`
//
// commands.h defines the commands.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "serve/server.h"

namespace ebb::admin {

// A command's reply. Severities are HAProxy's, which are syslog's: a client that requests them (`set severity-output`)
// can tell an error from an answer.
enum class Severity : std::uint8_t { none = 0, error = 3, warning = 4, info = 6 };
struct CommandReply {
  CommandReply(std::string what, Severity how = Severity::none) : text(std::move(what)), severity(how) {}
  CommandReply(const char* what) : text(what) {}

  std::string text;
  Severity severity = Severity::none;
};
inline CommandReply refusal(std::string text) { return {std::move(text), Severity::error}; }
inline CommandReply success(std::string text) { return {std::move(text), Severity::info}; }

// Replies once, at any later time, from any thread.
using Reply = std::move_only_function<void(CommandReply)>;
using RunCommand = std::function<void(std::string_view command, Reply reply)>;

class CommandSession final : public serve::Protocol {
 public:
  static constexpr std::size_t line_bytes_max = 16384;
  static constexpr serve::Budget budget{.connections = 64};
  static constexpr serve::TimeLimits time_limits{.first = std::chrono::seconds{10},
                                                 .request = std::chrono::minutes{10},  // after `prompt`
                                                 .work = std::chrono::hours{24},       // for long `wait` commands
                                                 .write = std::chrono::seconds{10},
                                                 .part = base::Duration::zero()};

  CommandSession(base::BlockPool& blocks, const RunCommand& run, const serve::Arrival& arrival)
      : blocks_(blocks), run_(run), way_back_(arrival.way_back) {}

  void take(base::Slice bytes, base::Instant now, base::Chain& out) override;
  void refill(base::Chain& out) override;
  bool finish_input(base::Chain& out) override;
  void give_up(base::Chain&) override {}
  void leave(base::Chain&) override { finished_ = true; }
  Waiting waiting() const override;
  std::uint64_t turn() const override { return serial_; }
  // If the client sends faster than the replies leave, the rest waits in the kernel.
  bool listens(bool) const override { return input_.size() <= line_bytes_max; }

 private:
  // reading -> running -> replying -> running or reading ... -> over
  //
  // replying: the peer has not read the reply yet; no other command runs meanwhile.
  enum class Stage : std::uint8_t { reading, running, replying, over };
  enum class SeverityForm : std::uint8_t { none, number, string };

  void read_line();
  void go_on();
  void run_next();
  void take_reply(const CommandReply& reply, base::Chain& out);
  // Runs commands that change the connection itself.
  std::optional<CommandReply> run_here(std::string_view command);
  static std::string severity_text(SeverityForm form, Severity severity);

  base::BlockPool& blocks_;
  const RunCommand& run_;
  const serve::WayBack way_back_;
  Stage stage_ = Stage::reading;
  std::string input_;
  std::deque<std::string> commands_;  // of the current line
  std::uint32_t serial_ = 0;          // of the running command: only its reply counts
  bool prompt_ = false;
  SeverityForm severity_ = SeverityForm::none;
  bool finished_ = false;  // the peer sends no more
};

}  // namespace ebb::admin
