// Messages that the split, round-trip and oracle tests share: what is read, and what is refused with which cause.
#pragma once

#include <string>
#include <vector>

#include "base/cause.h"
#include "wire/h1_head.h"

namespace ebb::wire::corpus {

struct Sample {
  const char* name;
  std::string bytes;
  base::Cause cause = base::Cause::completed;  // completed: it is read
};

const std::vector<Sample>& requests();   // heads, each ends with its empty line
const std::vector<Sample>& responses();  // heads, to a GET
const std::vector<Sample>& chunked();    // bodies; refused ones have the cause client_bad_request

}  // namespace ebb::wire::corpus
