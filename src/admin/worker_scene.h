// Asks all workers for what the API and the runtime socket show.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "admin/endpoint_sums.h"
#include "admin/runtime_view.h"
#include "admin/server.h"
#include "admin/sources.h"

namespace ebb::admin {

void gather_sums(Server& server, const Sources& sources, std::move_only_function<void(EndpointSums)> use);

// The same for many who ask at a time. Those who ask while the workers are being asked share the next round, never the
// one that has begun: it may miss what they have changed. So there is one set of replies at a time, however many ask;
// and each answer goes on its way before the next one is made. Owned by the handlers that ask.
class SharedSums : public std::enable_shared_from_this<SharedSums> {
 public:
  using Use = std::move_only_function<void(const EndpointSums&)>;
  SharedSums(Server& server, const Sources& sources) : server_(server), sources_(sources) {}

  void ask(Use use);

 private:
  struct Round {
    EndpointSums sums;
    std::deque<Use> uses;
  };
  void begin();
  void serve_one(std::unique_ptr<Round> round);

  Server& server_;
  const Sources& sources_;
  bool asking_ = false;
  std::deque<Use> waiting_;  // for the next round
};

void gather_scene(Server& server, const Sources& sources, std::move_only_function<void(RuntimeScene)> use);

}  // namespace ebb::admin
