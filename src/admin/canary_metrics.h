// The canary in the exposition: under OpenShift's names for dashboards and alerts that know those, and under ours, leg
// by leg. docs/canary.md lists them; a test holds the two together.
#pragma once

#include "canary/prober.h"
#include "observe/metric_writer.h"

namespace ebb::admin {

void write_canary_metrics(observe::MetricWriter& out, const canary::ProberFacts& facts);

}  // namespace ebb::admin
