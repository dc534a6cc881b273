// Mean, spread and confidence intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/spec/sweep.h"

namespace retort::orchestrator::cli {

struct Summary {
  int n = 0;
  double mean = 0;                                // meaningless when n = 0
  std::optional<double> sd;                       // sample standard deviation; none below two values
  std::optional<std::pair<double, double>> ci95;  // of the mean; none below two values
};

// The interval over seeds: Student t with n - 1 degrees of freedom, or the 2.5th and 97.5th percentile of the means of
// 4,000 resamples, whose draws are the same every time.
[[nodiscard]] Summary Summarize(const std::vector<double>& values, Interval interval = Interval::student_t);

// Wilson's 95 % score interval of a binomial fraction that was seen as `fraction` (in [0, 1]) in `n` examples, n >= 1.
[[nodiscard]] std::pair<double, double> WilsonInterval(double fraction, std::int64_t n);

}  // namespace retort::orchestrator::cli
