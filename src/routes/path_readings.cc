#include "routes/path_readings.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <string>

#include "routes/normalise.h"
#include "routes/path_text.h"

namespace ebb::routes {

namespace {

// Bounds the work for one path. Honest paths have a handful of readings; a hostile path must not keep a worker from its
// other clients.
constexpr std::size_t readings_max = 32;
constexpr std::size_t reading_bytes_max = std::size_t{4} << 10;  // besides the path itself

// A path during its transformations.
struct Text {
  std::string path;
  // Contains a "%" that was "%25": what looks like a triplet may still be one, or may be literal.
  bool has_decoded_percent = false;

  bool operator==(const Text&) const = default;
};

// Decodes the triplets for which `wanted` holds; writes the others in capitals. A percent sign that begins no triplet
// is literal for programs that do not refuse it.
template <class Wanted>
void decode(const Text& text, Wanted wanted, Text& out) {
  const std::string_view path = text.path;
  bool has_percent = text.has_decoded_percent;
  out.path.resize_and_overwrite(path.size(), [&](char* begin, std::size_t) {
    char* to = begin;
    for (std::size_t i = 0; i < path.size(); ++i) {
      const int value = path[i] == '%' ? triplet(path, i) : -1;
      if (value < 0) {
        *to++ = path[i];
        continue;
      }
      const char byte = static_cast<char>(value);
      i += 2;
      if (wanted(byte)) {
        *to++ = byte;
        has_percent = has_percent || byte == '%';
      } else {
        to = write_triplet(to, byte);
      }
    }
    return static_cast<std::size_t>(to - begin);
  });
  out.has_decoded_percent = has_percent;
}

std::string without_stray_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || triplet(text, i) >= 0) out.push_back(text[i]);
  }
  return out;
}

void leave_out_parameters(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    out.append(text, begin, end - begin);
    begin = std::min(text.find('/', end), text.size());
  }
}

void merge_slashes(std::string_view text, std::string& out) {
  out.clear();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("//", begin), text.size());
    out.append(text, begin, end - begin);
    if (end == text.size()) return;
    out.push_back('/');
    begin = std::min(text.find_first_not_of('/', end), text.size());
  }
}

// The form that match() takes: characters that cannot stand in a path become triplets again.
void write_matched_form(std::string_view text, bool keeps_triplets, std::string& out) {
  out.resize_and_overwrite(text.size() * triplet_size, [&](char* begin, std::size_t) {
    char* to = begin;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const bool stands = c > ' ' && c < 127 && c != '?' && c != '#' && c != '%';
      if (stands || (c == '%' && keeps_triplets && triplet(text, i) >= 0)) {
        *to++ = c;
      } else {
        to = write_triplet(to, c);
      }
    }
    return static_cast<std::size_t>(to - begin);
  });
}

// All texts that the habits make of a path, without duplicates. Ends when there are no more, or too many.
class Texts {
 public:
  explicit Texts(std::string_view path) {
    Text text{.path = std::string(path)};
    if (!path.starts_with('/')) text.path.insert(text.path.begin(), '/');
    const auto none = [](char) { return false; };
    decode(text, none, made_);
    bytes_max_ = made_.path.size() + reading_bytes_max;
    add();
    if (!path.contains('%')) return;
    text.path = without_stray_percents(text.path);
    decode(text, none, made_);
    add();
  }

  template <class Agrees>
  bool all(const Agrees& agrees) {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      if (!agrees(found_[i])) return false;
      apply_habits(found_[i]);
      if (too_many()) return false;
    }
    return true;
  }

 private:
  void apply_habits(const Text& text) {
    if (text.path.contains('%')) apply_decodings(text);
    made_.has_decoded_percent = text.has_decoded_percent;
    if (text.path.contains('\\')) {
      made_.path = text.path;
      std::ranges::replace(made_.path, '\\', '/');
      add();
    }
    if (text.path.contains(';')) {
      leave_out_parameters(text.path, made_.path);
      add();
    }
    if (text.path.contains("//")) {
      merge_slashes(text.path, made_.path);
      add();
    }
    for (const char mark : {'?', '#', '\0'}) {
      const std::size_t end = text.path.find(mark);
      if (end == std::string::npos) continue;
      made_.path.assign(text.path, 0, end);
      add();
    }
    if (text.path.contains("/.")) {
      made_.path = text.path;
      remove_dot_segments(made_.path);
      add();
    }
  }

  // Decoding slashes matters, since they separate segments. Decoding ";", "?" and backslashes does not: programs that
  // give them no meaning leave them alone.
  void apply_decodings(const Text& text) {
    add_decoded(text, [](char) { return true; });
    add_decoded(text, [](char c) { return c != '/'; });
    add_decoded(text, [](char c) { return c == '/' || c == '\\'; });
    add_decoded(text, is_unreserved);
  }

  template <class Wanted>
  void add_decoded(const Text& text, Wanted wanted) {
    decode(text, wanted, made_);
    add();
  }

  // Adds `made_` unless the same text exists.
  void add() {
    if (too_many() || std::ranges::find(found_, made_) != found_.end()) return;
    bytes_ += made_.path.size();
    found_.push_back(made_);
  }

  bool too_many() const { return found_.size() > readings_max || bytes_ > bytes_max_; }

  std::deque<Text> found_;  // in the order of processing; elements do not move
  Text made_;               // the text being built
  std::size_t bytes_ = 0;
  std::size_t bytes_max_ = 0;
};

}  // namespace

bool every_reading(std::string_view path, const std::function<bool(std::string_view reading)>& agrees) {
  const std::string_view before_query = without_query(path);
  const std::string_view query = path.substr(before_query.size());
  std::string reading;
  const auto agrees_as = [&](const Text& text, bool keeps_triplets) {
    write_matched_form(text.path, keeps_triplets, reading);
    return agrees(reading.append(query));
  };
  return Texts(before_query).all([&](const Text& text) {
    return agrees_as(text, true) && (!text.has_decoded_percent || agrees_as(text, false));
  });
}

bool stays_below_root(std::string_view path) {
  std::string resolved;
  return Texts(without_query(path)).all([&resolved](const Text& text) {
    if (!text.path.contains("/..")) return true;
    resolved = text.path;
    return remove_dot_segments(resolved);
  });
}

}  // namespace ebb::routes
