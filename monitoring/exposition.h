// Metric values in the types of prometheus-cpp. Private to this module's .cc files.
#pragma once

#include <vector>

#include "monitoring/metrics.h"

namespace prometheus {
struct MetricFamily;
}

namespace retort::monitoring {

// In the order of the catalogue; families without any series are left out.
[[nodiscard]] std::vector<prometheus::MetricFamily> ToPrometheus(const MetricValues& values);

}  // namespace retort::monitoring
