// Resolves names to addresses. getaddrinfo() blocks and cannot be cancelled, so each look-up has a thread. There are
// never more threads than names. A caller that no longer wants to wait drops the question.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "base/address.h"
#include "reactor/reactor.h"

namespace ebb::canary {

class Resolver {
 public:
  // The error is in words.
  using Done = std::move_only_function<void(const std::expected<base::Address, std::string>&)>;
  virtual ~Resolver() = default;
  // Answers on the reactor's thread, never from inside the call.
  virtual void resolve(const std::string& host, Done done) = 0;
};

class ThreadedResolver final : public Resolver {
 public:
  explicit ThreadedResolver(reactor::Reactor& reactor);
  ~ThreadedResolver() override;  // on the reactor's thread, or after it; open questions are never answered
  ThreadedResolver(const ThreadedResolver&) = delete;
  ThreadedResolver& operator=(const ThreadedResolver&) = delete;
  void resolve(const std::string& host, Done done) override;

 private:
  struct Desk;
  std::shared_ptr<Desk> desk_;  // shared with the threads, which may outlive the resolver
};

}  // namespace ebb::canary
