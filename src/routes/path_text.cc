#include "routes/path_text.h"

#include <algorithm>

namespace ebb::routes {

void append_triplet(std::string& out, char byte) {
  char text[triplet_size];
  write_triplet(text, byte);
  out.append(text, triplet_size);
}

bool remove_dot_segments(std::string& path) {
  std::size_t out = 0;
  bool stayed = true;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at + 1), path.size());
    const std::string_view segment = std::string_view(path).substr(at + 1, end - at - 1);
    const bool last = end == path.size();
    if (segment == "..") {
      stayed = stayed && out > 0;
      while (out > 0 && path[--out] != '/') {
      }
    }
    if (segment == "." || segment == "..") {
      if (last) path[out++] = '/';
    } else {
      for (std::size_t i = at; i < end; ++i) path[out++] = path[i];
    }
    at = end;
  }
  path.resize(out);
  return stayed;
}

}  // namespace ebb::routes
