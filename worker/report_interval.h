// How often a worker says how far it is.
#pragma once

#include "experiments/spec/trial_spec.h"

namespace retort::worker {

// Least seconds between two reports. A trial that may share its device is measured by them.
[[nodiscard]] inline double ReportSeconds(const TrialSpec& spec) {
  return spec.pack == PackMode::automatic ? 0.1 : 0.5;
}

}  // namespace retort::worker
