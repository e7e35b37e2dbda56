// The canary's metrics: under OpenShift's names, for existing dashboards and alerts, and under our own names for each
// leg. docs/canary.md lists them; a test compares the two.
#pragma once

#include "canary/prober.h"
#include "observe/metric_writer.h"

namespace ebb::admin {

void write_canary_metrics(observe::MetricWriter& out, const canary::ProberFacts& facts);

}  // namespace ebb::admin
