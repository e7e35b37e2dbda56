// Any text as a policy and as a list of endpoints: refused with diagnostics, or sockets can be judged by it.
#include <cstdint>
#include <string_view>

#include "base/assert.h"
#include "reap/allow.h"
#include "reap/judge.h"
#include "reap/policy_file.h"
#include "reap/truth_file.h"

using namespace ebb;

namespace {

census::Socket socket_to(const reap::Truth& truth) {
  census::Socket socket{.local = *base::Address::parse("10.0.0.1:40000"),
                        .peer = *base::Address::parse("10.96.0.1:443"),
                        .state = census::State::established,
                        .inode = 7,
                        .has_info = true};
  for (const reap::Service& service : truth.services) {
    if (!service.addresses.empty()) socket.peer = service.addresses.front();
    if (!service.endpoints.empty()) socket.real_peer = service.endpoints.front().address;
  }
  return socket;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto policy = reap::read_policy(text, "reap.yaml");
  EBB_ASSERT(policy || !policy.error().empty());
  if (policy) {
    for (const reap::AllowRow& row : policy->allow) EBB_ASSERT(!row.empty());
    reap::allowed_by(policy->allow, {.netns = "cni-1", .process = "java", .cgroup = "/kubepods/pod1"});
  }
  const auto truth = reap::read_truth(text, "endpoints.yaml");
  EBB_ASSERT(truth || !truth.error().empty());
  if (!truth) return 0;
  reap::Endpoints endpoints;
  base::Instant now{};
  const census::Socket socket = socket_to(*truth);
  for (const reap::Truth& one : {*truth, reap::Truth{}, *truth}) {
    endpoints.know(one, now);
    for (int hour = 0; hour < 3; ++hour, now += std::chrono::hours{1}) {
      reap::judge(socket, {}, policy ? policy->end : reap::Grounds{}, endpoints, now);
      EBB_ASSERT(!endpoints.last_departure(now) || *endpoints.last_departure(now) <= now);
    }
  }
  return 0;
}
