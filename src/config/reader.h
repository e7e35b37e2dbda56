// Walks a document along the tables of keys and collects all errors, each with its place and key.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "config/diagnostic.h"
#include "config/document.h"
#include "config/values.h"

namespace ebb::config {

class Reader {
 public:
  Reader(std::string file, Surroundings surroundings)
      : file_(std::move(file)), surroundings_(std::move(surroundings)) {}

  // While this lives, refusals are for the part `step` of the current key: ".backend" or "[3]".
  class Inside {
   public:
    Inside(Reader& reader, std::string_view step);
    ~Inside() { reader_.key_.resize(length_before_); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Reader& reader_;
    std::size_t length_before_;
  };

  void refuse(Mark mark, std::string reason, std::string remedy);
  // As above, for the given key instead of the current one.
  void refuse_key(Mark mark, std::string key, std::string reason, std::string remedy);
  // False, with a refusal, if the node is of another kind. A null counts as an empty list and an empty mapping: it is
  // left when all lines below a key are commented out.
  bool expect(const Node& node, Node::Kind kind, std::string_view expected, std::string_view remedy);

  const Surroundings& surroundings() const { return surroundings_; }
  bool failed() const { return count_ > 0; }
  // True if a refusal was for that key or for a key below it.
  bool failed_in(std::string_view part) const;
  Diagnostics take();

 private:
  static constexpr std::size_t diagnostics_max = 200;

  std::string file_;
  Surroundings surroundings_;
  std::string key_;
  Diagnostics diagnostics_;
  std::size_t count_ = 0;
};

}  // namespace ebb::config
