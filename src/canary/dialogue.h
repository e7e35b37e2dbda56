// A request and its answer in one of the protocols, without I/O: bytes in, bytes out. The prober makes a dialogue for
// every request; the connection below it may live longer.
//
// Before: probe, which has the connection. Next: judge, which gets the answer.
#pragma once

#include <memory>
#include <string>

#include "base/block.h"
#include "base/clock.h"
#include "base/rng.h"
#include "canary/judge.h"
#include "canary/leg.h"

namespace ebb::canary {

struct Question {
  std::string authority;
  std::string path;
  std::string nonce;
  bool secure = false;
};

class Dialogue {
 public:
  enum class Step : std::uint8_t { waiting, complete, failed };
  // Of a body; further bytes are read and dropped.
  static constexpr std::size_t body_bytes_max = 4096;

  virtual ~Dialogue() = default;
  // Appends its output to `out`.
  virtual Step begin(base::BlockPool& pool, base::Chain& out) = 0;
  virtual Step take(base::BlockPool& pool, const base::Slice& bytes, base::Instant now, base::Chain& out) = 0;
  // The peer has finished; not cleanly if TLS lacked a close_notify (RFC 8446 section 6.1).
  virtual Step finished(bool cleanly) = 0;
  // Appends a polite ending before the connection is closed.
  virtual void part(base::BlockPool& /*pool*/, base::Chain& /*out*/) {}
  // The connection may carry another request.
  virtual bool reusable() const { return false; }

  bool begun() const { return begun_; }  // a byte of the answer has arrived
  const Answer& answer() const { return answer_; }
  const Judgement& failure() const { return failure_; }

 protected:
  Step fail(Fault fault, std::string detail) {
    failure_ = {fault, std::move(detail)};
    return Step::failed;
  }

  bool begun_ = false;
  Answer answer_;

 private:
  Judgement failure_;
};

std::unique_ptr<Dialogue> make_dialogue(Protocol protocol, const Question& question, base::Rng& random);

}  // namespace ebb::canary
