// The head of a request and the kept parts of the answer's head, for all protocols.
#pragma once

#include <string>
#include <string_view>

#include "canary/dialogue.h"
#include "wire/h1_head.h"

namespace ebb::canary {

// `extra`: further field lines, each with CRLF.
std::string request_text(const Question& question, std::string_view extra);
void note_head(const wire::ResponseHead& head, Answer& answer);
void note_body(std::string_view bytes, Answer& answer);

}  // namespace ebb::canary
