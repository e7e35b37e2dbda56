#include "admin/command_session.h"

#include <algorithm>

#include "admin/command_line.h"

namespace ebb::admin {

void CommandSession::take(base::Slice bytes, base::Instant, base::Chain&) {
  if (stage_ == Stage::over) return;
  input_ += bytes.view();
  if (stage_ == Stage::reading) read_line();
}

void CommandSession::refill(base::Chain&) {
  if (stage_ == Stage::replying) go_on();
}

bool CommandSession::finish_input(base::Chain&) {
  finished_ = true;
  if (stage_ != Stage::reading) return true;
  // The last line needs no line feed.
  if (input_.empty()) return false;
  if (!input_.ends_with('\n')) input_ += '\n';
  read_line();
  return true;
}

CommandSession::Waiting CommandSession::waiting() const {
  switch (stage_) {
    case Stage::reading:
    case Stage::replying: return Waiting::request;
    case Stage::running: return Waiting::work;
    case Stage::over: break;
  }
  return Waiting::nothing;
}

void CommandSession::read_line() {
  const std::size_t end = input_.find('\n');
  if (end == std::string::npos) {
    if (input_.size() > line_bytes_max) stage_ = Stage::over;
    return;
  }
  const std::string line = input_.substr(0, end);
  input_.erase(0, end + 1);
  for (const std::string_view command : split_commands(line)) commands_.emplace_back(command);
  go_on();
}

void CommandSession::go_on() {
  if (commands_.empty()) {
    // Without a prompt the session takes one line, and the lines that arrived with it.
    const bool more = input_.find('\n') != std::string::npos;
    const bool last = !more && (!prompt_ || finished_);
    stage_ = last ? Stage::over : Stage::reading;
    return last ? void() : read_line();
  }
  stage_ = Stage::running;
  run_next();
}

void CommandSession::run_next() {
  const std::string command = std::move(commands_.front());
  commands_.pop_front();
  serial_ += 1;
  if (command == "quit") {
    stage_ = Stage::over;
    return commands_.clear();
  }
  // Through the mailbox, so that a long chain of commands does not grow the stack.
  Reply reply = [this, way_back = way_back_, serial = serial_](CommandReply said) {
    way_back.post([this, serial, said = std::move(said)](base::Chain& out) {
      if (stage_ == Stage::running && serial_ == serial) take_reply(said, out);
    });
  };
  if (auto done = run_here(command)) return reply(std::move(*done));
  run_(command, std::move(reply));
}

std::optional<CommandReply> CommandSession::run_here(std::string_view command) {
  if (command == "prompt") {
    prompt_ = !prompt_;
    return "";
  }
  const std::vector<std::string> words = split_words(command);
  if (words.size() < 2 || words[0] != "set" || words[1] != "severity-output") return std::nullopt;
  constexpr std::string_view forms[] = {"none", "number", "string"};
  const auto* const form = std::ranges::find(forms, words.size() > 2 ? std::string_view(words[2]) : "");
  if (form == std::end(forms)) {
    return refusal("one of 'none', 'number', 'string' is a required argument\n");
  }
  severity_ = static_cast<SeverityForm>(form - forms);
  return "";
}

std::string CommandSession::severity_text(SeverityForm form, Severity severity) {
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

// One line feed after every reply, which ends it for scripts; then the prompt in prompt mode.
void CommandSession::take_reply(const CommandReply& reply, base::Chain& out) {
  out.append(blocks_, severity_text(severity_, reply.severity) + reply.text + (prompt_ ? "\n> " : "\n"));
  stage_ = Stage::replying;
}

}  // namespace ebb::admin
