#include "reap/totals.h"

namespace ebb::reap {
namespace {

constexpr std::string_view presence_names[] = {"ready", "leaving", "gone"};
constexpr double ns_per_second = 1e9;

}  // namespace

void write_metrics(observe::MetricWriter& writer, const Totals& totals) {
  writer.counter("ebbgate_reap_sockets", "Decisions on sockets that there were grounds to end.");
  for (std::size_t outcome = 0; outcome < outcome_names.size(); ++outcome) {
    for (std::size_t ground = 0; ground < ground_names.size(); ++ground) {
      writer.sample({{"outcome", outcome_names[outcome]}, {"ground", ground_names[ground]}},
                    totals.outcomes[outcome][ground]);
    }
  }
  writer.counter("ebbgate_reap_looks", "Looks at all sockets.");
  writer.sample({}, totals.looks);
  writer.counter("ebbgate_reap_looks_failed", "Looks that the kernel refused.");
  writer.sample({}, totals.looks_failed);
  writer.counter("ebbgate_reap_look_seconds", "Time spent looking and acting.");
  writer.sample({}, static_cast<double>(totals.look_ns) / ns_per_second);
  writer.gauge("ebbgate_reap_sockets_seen", "Sockets in the last look.");
  writer.sample({}, totals.sockets);
  writer.gauge("ebbgate_reap_sockets_found", "Sockets in the last look that there were grounds to end.");
  writer.sample({}, totals.found);
  writer.gauge("ebbgate_reap_endpoints", "Endpoints in the list.");
  for (std::size_t i = 0; i < totals.endpoints.size(); ++i) {
    writer.sample({{"state", presence_names[i]}}, totals.endpoints[i]);
  }
  writer.counter("ebbgate_reap_files_refused", "Changes of files that could not be used; the old ones stay.");
  writer.sample({{"file", "policy"}}, totals.policy_refused);
  writer.sample({{"file", "endpoints"}}, totals.truth_refused);
  writer.gauge("ebbgate_reap_acting", "1: sockets are ended; 0: the log says what would be.");
  writer.sample({}, std::uint64_t{totals.acting});
}

}  // namespace ebb::reap
