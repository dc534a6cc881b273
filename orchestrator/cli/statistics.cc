#include "orchestrator/cli/statistics.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace retort::orchestrator::cli {

Summary Summarize(const std::vector<double>& values) {
  Summary summary;
  summary.n = static_cast<int>(values.size());
  if (values.empty()) return summary;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) summary.mean += value / n;
  if (values.size() < 2) return summary;
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.sd = std::sqrt(squares / (n - 1));
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * *summary.sd / std::sqrt(n);
  summary.ci95 = {summary.mean - half, summary.mean + half};
  return summary;
}

}  // namespace retort::orchestrator::cli
