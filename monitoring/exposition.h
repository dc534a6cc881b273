// The text that Prometheus scrapes.
#pragma once

#include <string>
#include <string_view>

#include "monitoring/metrics.h"

namespace retort::monitoring {

// Formats the values as Prometheus text exposition, version 0.0.4: the families of the catalogue in its order, without
// those that have no series. `sweep`: the value of a label of that name, the first of every sample; empty: no such
// label.
[[nodiscard]] std::string FormatExposition(const MetricValues& values, std::string_view sweep = {});

}  // namespace retort::monitoring
