// Stores and reads what a fresh classifier learnt from the images of a trial's generator (`retort sample
// --evaluate`). The newest lies beside its trial (TRIAL/synthetic.json), so that tables and figures can show it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "experiments/base/status.h"
#include "orchestrator/results/results_view.h"
#include "storage/files/env.h"

namespace retort::orchestrator {

struct SyntheticResult {
  std::int64_t count = 0;                                              // images, those that chose the epoch among them
  std::uint64_t seed = 0;                                              // of the images
  std::string labels;                                                  // who labelled them
  std::string network;                                                 // the classifier
  double accuracy = 0;                                                 // on the test split
  double frechet_distance = std::numeric_limits<double>::quiet_NaN();  // in cluster::kFrechetFeatures; NaN: none
};

// In place of an earlier one, durable, by rename. REQUIRES: the trial has a row. Error: environment.
[[nodiscard]] Status StoreSynthetic(storage::Env& env, const std::string& results, const TrialView& trial,
                                    const SyntheticResult& result);
// Of the trial's present row; nothing when there is none, or when it is of an earlier one. Error: environment or
// damage, naming the file.
[[nodiscard]] Result<std::optional<SyntheticResult>> ReadSynthetic(storage::Env& env, const std::string& results,
                                                                   const TrialView& trial);

// Whether the metric is measured by `retort sample --evaluate`: "synthetic.accuracy" or "synthetic.fid".
[[nodiscard]] bool IsSynthetic(std::string_view metric);
// The metric's value; nothing where there is none.
[[nodiscard]] std::optional<double> FindSynthetic(const SyntheticResult& result, std::string_view metric);

}  // namespace retort::orchestrator
