// Solving for the noise or the number of releases that an epsilon asks for.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "experiments/spec/status.h"
#include "experiments/spec/trial_spec.h"

namespace retort::privacy {

// The largest computed epsilon whose claim, rounded up to thousandths with its margin, is at most `epsilon`.
[[nodiscard]] double AimOf(double epsilon);

// What CalibrateTrial does, solved once for equal parameters: a sweep over seeds and data splits asks for
// few distinct ones. Not thread-safe.
class Calibrator {
 public:
  // As CalibrateTrial.
  [[nodiscard]] Status Calibrate(TrialSpec& spec);
  [[nodiscard]] std::size_t solved() const { return solutions_.size(); }  // distinct parameters so far

 private:
  struct Solution {
    Status status;
    double sigma = 0, noise_multiplier = 0, vote_noise = 0, epsilon0 = 0;
    std::int64_t steps = 0, queries = 0;
  };
  std::unordered_map<std::string, Solution> solutions_;
};

}  // namespace retort::privacy
