// Mean, spread and confidence interval over seeds.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace retort::orchestrator::cli {

struct Summary {
  int n = 0;
  double mean = 0;                                // meaningless when n = 0
  std::optional<double> sd;                       // sample standard deviation; none below two values
  std::optional<std::pair<double, double>> ci95;  // of the mean, Student t with n - 1 degrees of freedom
};

[[nodiscard]] Summary Summarize(const std::vector<double>& values);

}  // namespace retort::orchestrator::cli
