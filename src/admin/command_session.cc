#include "admin/runtime_connections.h"

#include <algorithm>

#include "admin/command_line.h"

namespace ebb::admin {

using reactor::CloseMode;
using reactor::Receive;

void RuntimeConnections::on_accepted(reactor::SocketId socket) {
  if (open_ >= connections_max && !evict()) return reactor_.close(socket, CloseMode::drop);
  open_ += 1;
  const base::Handle handle = connections_.emplace();
  Connection& connection = *connections_.find(handle);
  connection.socket = socket;
  connection.handle = handle;
  connection.held_since = reactor_.now();
  connection.timer.set_owner({kind_, handle});
  reactor_.adopt(socket, {kind_, handle});
  arm(connection, idle_max);
  reactor_.receive(socket, Receive::watchful);
}

// Closes one that is only held open. False: there is none.
bool RuntimeConnections::evict() {
  serve::HeldOpen all;
  connections_.for_each([&all](base::Handle handle, const Connection& connection) {
    if (const auto kind = held(connection)) all.add(*kind, connection.held_since, handle);
  });
  Connection* const chosen = connections_.find(all.to_close());
  if (chosen == nullptr) return false;
  close(*chosen);
  return true;
}

// Nothing: a command runs.
std::optional<serve::Held> RuntimeConnections::held(const Connection& connection) {
  switch (connection.stage) {
    case Stage::reading: return connection.serial > 0 ? serve::Held::between_requests : serve::Held::never_asked;
    case Stage::replying:
    case Stage::ending: return serve::Held::answered;
    case Stage::running:
    case Stage::closed: break;
  }
  return std::nullopt;
}

void RuntimeConnections::on_received(base::Handle handle, std::string_view bytes) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || connection->stage == Stage::closed || connection->stage == Stage::ending) return;
  connection->input += bytes;
  if (connection->stage == Stage::reading) return read_line(*connection);
  // It runs ahead of its replies: the kernel keeps the rest.
  if (connection->input.size() > line_bytes_max) reactor_.receive(connection->socket, Receive::paused);
}

void RuntimeConnections::on_peer_finished(base::Handle handle) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || connection->stage == Stage::closed) return;
  connection->finished = true;
  if (connection->stage != Stage::reading) return;
  // A last line needs no line feed.
  if (connection->input.empty()) return close(*connection);
  if (!connection->input.ends_with('\n')) connection->input += '\n';
  read_line(*connection);
}

void RuntimeConnections::on_drained(base::Handle handle) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr) return;
  if (connection->stage == Stage::ending) return close(*connection);
  if (connection->stage == Stage::replying) go_on(*connection);
}

void RuntimeConnections::on_failed(base::Handle handle) {
  if (Connection* const connection = connections_.find(handle)) close(*connection);
}

void RuntimeConnections::on_timer(base::Handle handle) {
  if (Connection* const connection = connections_.find(handle)) close(*connection);
}

void RuntimeConnections::on_round_end() {
  for (const base::Handle handle : graves_) connections_.erase(handle);
  graves_.clear();
}

void RuntimeConnections::read_line(Connection& connection) {
  const std::size_t end = connection.input.find('\n');
  if (end == std::string::npos) {
    if (connection.input.size() > line_bytes_max) return close(connection);
    return reactor_.receive(connection.socket, Receive::watchful);
  }
  const std::string line = connection.input.substr(0, end);
  connection.input.erase(0, end + 1);
  for (const std::string_view command : split_commands(line)) connection.commands.emplace_back(command);
  go_on(connection);
}

void RuntimeConnections::go_on(Connection& connection) {
  connection.stage = Stage::running;
  arm(connection, command_max);
  run_next(connection);
}

void RuntimeConnections::run_next(Connection& connection) {
  if (connection.commands.empty()) {
    // Without a prompt there is one line; those that came with it are not thrown away.
    const bool more = connection.input.find('\n') != std::string::npos;
    if (!more && (!connection.prompt || connection.finished)) return end(connection);
    connection.stage = Stage::reading;
    arm(connection, prompt_idle_max);
    return read_line(connection);
  }
  const std::string command = std::move(connection.commands.front());
  connection.commands.pop_front();
  connection.serial += 1;
  if (command == "quit") return end(connection);
  // By way of the mailbox, so that a long chain of commands does not pile up on the stack.
  Reply reply = [this, door = door_, handle = connection.handle, serial = connection.serial](CommandReply said) {
    door->post([this, handle, serial, said = std::move(said)] { take_reply(handle, serial, said); });
  };
  if (auto done = run_here(connection, command)) return reply(std::move(*done));
  run_(command, std::move(reply));
}

std::optional<CommandReply> RuntimeConnections::run_here(Connection& connection, std::string_view command) {
  if (command == "prompt") {
    connection.prompt = !connection.prompt;
    return "";
  }
  const std::vector<std::string> words = split_words(command);
  if (words.size() < 2 || words[0] != "set" || words[1] != "severity-output") return std::nullopt;
  constexpr std::string_view forms[] = {"none", "number", "string"};
  const auto* const form = std::ranges::find(forms, words.size() > 2 ? std::string_view(words[2]) : "");
  if (form == std::end(forms)) {
    return refusal("one of 'none', 'number', 'string' is a required argument\n");
  }
  connection.severity = static_cast<SeverityForm>(form - forms);
  return "";
}

std::string RuntimeConnections::severity_text(SeverityForm form, Severity severity) {
  if (form == SeverityForm::none || severity == Severity::none) return "";
  if (form == SeverityForm::number) return "[" + std::to_string(static_cast<unsigned>(severity)) + "]: ";
  switch (severity) {
    case Severity::error: return "[err]: ";
    case Severity::warning: return "[warning]: ";
    case Severity::info: return "[info]: ";
    case Severity::none: break;
  }
  return "";
}

// Every reply is followed by one line feed, which ends it for scripts, and in prompt mode by the prompt.
void RuntimeConnections::take_reply(base::Handle handle, std::uint32_t serial, const CommandReply& reply) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || connection->stage != Stage::running || connection->serial != serial) return;
  send(*connection,
       severity_text(connection->severity, reply.severity) + reply.text + (connection->prompt ? "\n> " : "\n"));
  connection->held_since = reactor_.now();
  connection->stage = Stage::replying;
  arm(*connection, idle_max);
  if (reactor_.unsent(connection->socket) == 0) go_on(*connection);
}

void RuntimeConnections::send(Connection& connection, std::string_view text) {
  base::Chain bytes;
  bytes.push(reactor_.blocks().copy(text));
  reactor_.send(connection.socket, std::move(bytes));
}

void RuntimeConnections::end(Connection& connection) {
  connection.stage = Stage::ending;
  connection.commands.clear();
  arm(connection, idle_max);
  if (reactor_.unsent(connection.socket) == 0) close(connection);
}

void RuntimeConnections::close(Connection& connection) {
  if (connection.stage == Stage::closed) return;
  connection.stage = Stage::closed;
  open_ -= 1;
  connection.timer.disarm();
  reactor_.close(connection.socket, CloseMode::drop);
  graves_.push_back(connection.handle);
}

void RuntimeConnections::arm(Connection& connection, base::Duration delay) {
  reactor_.timers().arm(connection.timer, reactor_.now() + delay);
}

}  // namespace ebb::admin
