// Sweeps without files: a data set of 10,000 examples that is found wherever it is looked for.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "experiments/sweep/sweep_plan.h"

namespace retort {

// Lines 1 to 5: format and data. A test's own text starts on line 6.
inline const std::string kHead =
    "retort = 1\n"
    "[data.digits]\n"
    "reader = \"idx\"\n"
    "path = \"digits\"\n"
    "split = { shuffle = 1, train = [0, 8000], public = [8000, 9000], test = [9000, 10000] }\n";

// Lines 6 to 9: a teacher of each kind.
inline const std::string kTeachers =
    "[teacher]\n"
    "single = { network = \"logistic\" }\n"
    "shards = { network = \"logistic\", members = 10 }\n"
    "dp = { private = { noise_multiplier = 1.5, norm_bound = 0.1 } }\n";

inline PlanHooks FakeHooks() {
  PlanHooks hooks;
  hooks.inspect = [](DataSpec& data) {
    data.digest = std::string(64, 'a');
    data.examples = 10000;
    if (data.height == 0) data.channels = 3, data.height = data.width = 32;
    return Status();
  };
  hooks.calibrate = [](TrialSpec&) { return Status(); };
  return hooks;
}

inline PlanOutcome PlanText(const std::string& text, const PlanOptions& options = {},
                            const PlanHooks& hooks = FakeHooks()) {
  return ParseSweep(text, "sweeps/test.toml", options, hooks);
}

// The plan of a text that has to be free of errors.
inline SweepPlan GoodPlan(const std::string& text, const PlanOptions& options = {},
                          const PlanHooks& hooks = FakeHooks()) {
  PlanOutcome outcome = PlanText(text, options, hooks);
  for (const Diagnostic& error : outcome.errors) ADD_FAILURE() << Render(error);
  return outcome.plan ? std::move(*outcome.plan) : SweepPlan{};
}

inline std::vector<TrialSpec> Students(const SweepPlan& plan) {
  std::vector<TrialSpec> students;
  for (const TrialSpec& trial : plan.trials) {
    if (trial.role == Role::student) students.push_back(trial);
  }
  return students;
}

inline std::vector<std::string> Names(const SweepPlan& plan) {
  std::vector<std::string> names;
  for (const TrialSpec& trial : plan.trials) names.push_back(trial.name);
  return names;
}

}  // namespace retort
