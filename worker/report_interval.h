// How often a worker says how far it is.
#pragma once

#include <algorithm>

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Least seconds between two reports. A trial that may share its device is measured by them; one with a
// deadline is ended when they stay away for so long, whatever the machine does meanwhile.
[[nodiscard]] inline double ReportSeconds(const TrialSpec& spec) {
  const double usual = spec.pack == PackMode::automatic ? 0.1 : 0.5;
  return spec.deadline_seconds > 0 ? std::min(usual, spec.deadline_seconds / 4) : usual;
}

}  // namespace retort::worker
