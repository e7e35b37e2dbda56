// HTTP/1: reads the answer's head and its whole body, so that truncation shows.
#pragma once

#include "canary/dialogue.h"
#include "wire/h1_body.h"
#include "wire/h1_head.h"

namespace ebb::canary {

class H1Dialogue : public Dialogue {
 public:
  // `keep`: another request may follow on the connection.
  H1Dialogue(const Question& question, bool keep);

  Step begin(base::BlockPool& pool, base::Chain& out) override;
  Step take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now, base::Chain& out) override;
  Step finished(bool cleanly) override;
  bool reusable() const override { return reusable_; }

 protected:
  H1Dialogue(const Question& question, std::string extra);
  // Takes the final head; `rest` holds the bytes after it.
  virtual Step take_head(const wire::ResponseHead& head, std::string_view rest);
  const Question& question() const { return question_; }

 private:
  Step read_head();
  Step read_body(std::string_view bytes);

  const Question question_;
  const std::string extra_;
  bool keep_ = false;
  bool reusable_ = false;
  bool headed_ = false;  // the final head has arrived
  std::string input_;    // a partial head
  wire::BodyReader body_;
};

}  // namespace ebb::canary
