// Collects the workers' data for the API and the runtime socket.
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

// The same for many callers at a time. Callers that arrive during a round share the next round: the current round may
// miss their changes. There is one set of replies at a time, however many callers wait, and each answer leaves before
// the next is made. Owned by the calling handlers.
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
