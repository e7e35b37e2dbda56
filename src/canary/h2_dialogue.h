// HTTP/2: the only stream of a session.
#pragma once

#include "canary/dialogue.h"
#include "wire/h2.h"

namespace ebb::canary {

class H2Dialogue final : public Dialogue, private wire::H2Listener {
 public:
  explicit H2Dialogue(const Question& question);

  Step begin(base::BlockPool& pool, base::Chain& out) override;
  Step take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now, base::Chain& out) override;
  Step finished(bool cleanly) override;
  void part(base::BlockPool& pool, base::Chain& out) override;

 private:
  void on_response(wire::StreamId stream, const wire::ResponseHead& head) override;
  void on_payload(wire::StreamId stream, base::Slice bytes) override;
  void on_whole(wire::StreamId, std::string_view) override { step_ = Step::complete; }
  void on_stream_failed(wire::StreamId stream, base::Cause cause, bool unprocessed) override;
  void on_stream_drained(wire::StreamId) override {}
  void on_ping_answered() override {}
  void on_going_away() override {}
  void on_request(wire::StreamId, const wire::RequestHead&) override {}
  void on_request_refused(wire::StreamId, base::Cause, const char*) override {}

  const Question question_;
  wire::H2Session session_;
  Step step_ = Step::waiting;  // as the frames determined
};

}  // namespace ebb::canary
