// The connections of the runtime socket: lines to commands, replies to bytes, as HAProxy does it.
//
//   one line, commands separated by `;` -> a reply for each, then the end
//   after `prompt`: line after line, each reply followed by "\n> ", until `quit`
//
// Owned by the Server, used on its thread only. What a command means is told by commands.h.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slot_map.h"
#include "reactor/reactor.h"
#include "serve/door.h"
#include "serve/held_open.h"

namespace ebb::admin {

// What a command says. Severities are HAProxy's, which are those of syslog: a client that asks for them (`set
// severity-output`) can tell a refusal from an answer.
enum class Severity : std::uint8_t { none = 0, error = 3, warning = 4, info = 6 };
struct CommandReply {
  CommandReply(std::string what, Severity how = Severity::none) : text(std::move(what)), severity(how) {}
  CommandReply(const char* what) : text(what) {}

  std::string text;
  Severity severity = Severity::none;
};
inline CommandReply refusal(std::string text) { return {std::move(text), Severity::error}; }
inline CommandReply success(std::string text) { return {std::move(text), Severity::info}; }

// Replies at any later time, from any thread, once.
using Reply = std::move_only_function<void(CommandReply)>;
using RunCommand = std::function<void(std::string_view command, Reply reply)>;

class RuntimeConnections {
 public:
  static constexpr std::size_t connections_max = 64;
  static constexpr std::size_t line_bytes_max = 16384;
  static constexpr base::Duration idle_max = std::chrono::seconds{10};
  static constexpr base::Duration prompt_idle_max = std::chrono::minutes{10};
  static constexpr base::Duration command_max = std::chrono::hours{24};  // `wait` may be asked to

  RuntimeConnections(reactor::Reactor& reactor, std::shared_ptr<serve::Door> door, const RunCommand& run,
                     std::uint32_t kind)
      : reactor_(reactor), door_(std::move(door)), run_(run), kind_(kind) {}

  void on_accepted(reactor::SocketId socket);
  void on_received(base::Handle handle, std::string_view bytes);
  void on_peer_finished(base::Handle handle);
  void on_drained(base::Handle handle);
  void on_failed(base::Handle handle);
  void on_timer(base::Handle handle);
  void on_round_end();

  // For the book: those that are not closed, as (handle, socket).
  template <class Callback>
  void for_each_open(Callback&& callback) {
    connections_.for_each([&callback](base::Handle handle, const Connection& connection) {
      if (connection.stage != Stage::closed) callback(handle, connection.socket);
    });
  }

 private:
  // reading -> running -> replying -> running or reading ... -> ending -> closed
  //
  // replying: the peer has yet to read a reply; no other is made meanwhile.
  enum class Stage : std::uint8_t { reading, running, replying, ending, closed };
  enum class SeverityForm : std::uint8_t { none, number, string };
  struct Connection {
    reactor::SocketId socket;
    base::Handle handle;
    base::Timer timer;
    Stage stage = Stage::reading;
    base::Instant held_since;  // accepted, or replied for the last time
    std::string input;
    std::deque<std::string> commands;  // of the line that is being worked through
    std::uint32_t serial = 0;          // of the command that runs: only its reply counts
    bool prompt = false;
    SeverityForm severity = SeverityForm::none;
    bool finished = false;  // the peer sends no more
  };

  bool evict();
  static std::optional<serve::Held> held(const Connection& connection);
  void read_line(Connection& connection);
  void go_on(Connection& connection);
  void run_next(Connection& connection);
  void take_reply(base::Handle handle, std::uint32_t serial, const CommandReply& reply);
  // Commands that change the connection itself.
  static std::optional<CommandReply> run_here(Connection& connection, std::string_view command);
  static std::string severity_text(SeverityForm form, Severity severity);
  void send(Connection& connection, std::string_view text);
  void end(Connection& connection);
  void close(Connection& connection);
  void arm(Connection& connection, base::Duration delay);

  reactor::Reactor& reactor_;
  const std::shared_ptr<serve::Door> door_;
  const RunCommand& run_;
  const std::uint32_t kind_;
  base::SlotMap<Connection> connections_;
  std::size_t open_ = 0;
  std::vector<base::Handle> graves_;  // closed in this round
};

}  // namespace ebb::admin
