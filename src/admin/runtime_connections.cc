#include "admin/runtime_connections.h"

#include "admin/command_line.h"

namespace ebb::admin {

using reactor::CloseMode;
using reactor::Receive;

void RuntimeConnections::on_accepted(reactor::SocketId socket) {
  if (connections_.size() >= connections_max) return reactor_.close(socket, CloseMode::drop);
  const base::Handle handle = connections_.emplace();
  Connection& connection = *connections_.find(handle);
  connection.socket = socket;
  connection.handle = handle;
  connection.timer.set_owner({kind_, handle});
  reactor_.adopt(socket, {kind_, handle});
  arm(connection, idle_max);
  reactor_.receive(socket, Receive::watchful);
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
  if (connection != nullptr && connection->stage == Stage::ending) close(*connection);
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
  Reply reply = [this, door = door_, handle = connection.handle, serial = connection.serial](std::string text) {
    door->post([this, handle, serial, text = std::move(text)] { take_reply(handle, serial, text); });
  };
  if (command == "prompt") {
    connection.prompt = !connection.prompt;
    return reply("");
  }
  run_(command, std::move(reply));
}

// Every reply is followed by one line feed, which ends it for scripts, and in prompt mode by the prompt.
void RuntimeConnections::take_reply(base::Handle handle, std::uint32_t serial, const std::string& text) {
  Connection* const connection = connections_.find(handle);
  if (connection == nullptr || connection->stage != Stage::running || connection->serial != serial) return;
  send(*connection, text + (connection->prompt ? "\n> " : "\n"));
  run_next(*connection);
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
  connection.timer.disarm();
  reactor_.close(connection.socket, CloseMode::drop);
  graves_.push_back(connection.handle);
}

void RuntimeConnections::arm(Connection& connection, base::Duration delay) {
  reactor_.timers().arm(connection.timer, reactor_.now() + delay);
}

}  // namespace ebb::admin
