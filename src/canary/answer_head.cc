#include "canary/answer_head.h"

#include <fmt/format.h>

#include <algorithm>

namespace ebb::canary {
namespace {

constexpr std::size_t value_bytes_max = 256;

void note(const wire::ResponseHead& head, const FieldName& name, std::optional<std::string>& out) {
  if (const wire::Field* const field = head.fields.find(name.lower)) out = field->value.substr(0, value_bytes_max);
}

}  // namespace

std::string request_text(const Question& question, std::string_view extra) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: ebbgate-canary\r\nAccept: */*\r\n{}: {}\r\n{}\r\n",
                     question.path, question.authority, nonce_field.written, question.nonce, extra);
}

void note_head(const wire::ResponseHead& head, Answer& answer) {
  answer.status = head.status;
  note(head, nonce_field, answer.nonce);
  note(head, port_field, answer.port);
  note(head, pod_field, answer.pod);
  note(head, node_field, answer.node);
  note(head, generation_field, answer.generation);
  note(head, configuration_field, answer.configuration);
}

void note_body(std::string_view bytes, Answer& answer) {
  const std::size_t room = Dialogue::body_bytes_max - std::min(answer.body.size(), Dialogue::body_bytes_max);
  answer.body += bytes.substr(0, room);
}

}  // namespace ebb::canary
