// What the shadows take that `retort audit` trains for membership inference: as long as the trial and its teacher took,
// each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiments/methods/trial_spec.h"
#include "orchestrator/core/cost_model.h"

namespace retort::orchestrator {

// Whether membership inference attacks the trial with shadows: not ensembles, which are never released, nor what is
// loaded from a file. `teacher` may be null.
[[nodiscard]] bool HasShadows(const TrialSpec& spec, const TrialSpec* teacher);

// A trial that would be attacked, and its teacher or null.
struct ShadowedTrial {
  const TrialSpec* spec = nullptr;
  const TrialSpec* teacher = nullptr;
};

struct AuditCost {
  std::int64_t shadows = 0;  // of each trial
  std::size_t trials = 0;    // that have shadows
  std::size_t unknown = 0;   // of them, whose cost or whose teacher's was never measured
  double seconds = 0;        // of the others, one shadow after the other
};

// Of those of `trials` that have shadows. Error-free: what is not known is counted.
[[nodiscard]] AuditCost EstimateShadows(const CostModel& costs, const std::vector<ShadowedTrial>& trials,
                                        std::int64_t shadows);

}  // namespace retort::orchestrator
