// Solving for the noise or the number of releases that an epsilon asks for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "experiments/base/status.h"
#include "experiments/methods/trial_spec.h"

namespace retort::privacy {

// Returns the largest computed epsilon whose claim, rounded up to thousandths with its margin, is at most `epsilon`.
[[nodiscard]] double ComputeTargetEpsilon(double epsilon);

// Searches for the noise multiplier of DP-SGD on batches at random, by sampling rate, steps that are charged, delta and
// the epsilon that is aimed at: what was found, as it was before rounding.
using NoiseSearches = std::map<std::tuple<double, std::int64_t, double, double>, double>;

// Calibrates trials as CalibrateTrial does, and solves once for equal parameters: a sweep over seeds and data splits
// asks for few distinct ones. Trials that differ in their norm bounds share the search for the noise multiplier, which
// is the same, and are each checked by themselves. Not thread-safe.
class Calibrator {
 public:
  // As CalibrateTrial.
  [[nodiscard]] Status Calibrate(TrialSpec& spec);
  [[nodiscard]] std::size_t solved() const { return solutions_.size(); }   // distinct parameters so far
  [[nodiscard]] std::size_t searched() const { return searches_.size(); }  // of them, distinct searches for noise

 private:
  struct Solution {
    Status status;
    double sigma = 0, noise_multiplier = 0, vote_noise = 0, epsilon0 = 0;
    std::int64_t steps = 0, queries = 0;
  };
  std::unordered_map<std::string, Solution> solutions_;
  NoiseSearches searches_;
};

// Equal for trials for which calibration solves the same.
[[nodiscard]] std::string MakeCalibrationKey(const TrialSpec& spec);

// Rounds up to nine significant digits, so that the last bits of a math library do not change a trial's identity.
[[nodiscard]] double RoundUpToNineDigits(double value);

// Fills sigma, noise_multiplier, vote_noise, epsilon0, steps or queries from (claim, epsilon, delta), as
// spec.privacy.calibrate says; does nothing when that is none. Solved noise is rounded up to nine digits, solved counts
// down. noise = "seeded" calibrates as secure noise does, although the run's claims stay unbounded. Error: usage,
// naming the key and why the combination cannot be met.
[[nodiscard]] Status CalibrateTrial(TrialSpec& spec);

}  // namespace retort::privacy
