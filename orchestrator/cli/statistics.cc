#include "orchestrator/cli/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>
#include <random>

namespace retort::orchestrator::cli {
namespace {

constexpr double kNormal975 = 1.959963984540054;  // quantile of the normal distribution
constexpr std::size_t kResamples = 4000;

double MeanOf(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) mean += value / static_cast<double>(values.size());
  return mean;
}

// Uniform to within count / 2^32.
std::size_t DrawIndex(std::mt19937_64& random, std::size_t count) {
  return static_cast<std::size_t>((random() >> 32U) * count >> 32U);
}

std::pair<double, double> BootstrapInterval(const std::vector<double>& values) {
  std::mt19937_64 random(0);
  std::vector<double> means(kResamples);
  for (double& mean : means) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += values[DrawIndex(random, values.size())];
    mean = sum / static_cast<double>(values.size());
  }
  const auto at = [&means](std::size_t rank) {
    const auto place = means.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(means.begin(), place, means.end());
    return *place;
  };
  const std::size_t tail = kResamples / 40;  // 2.5 %
  const double low = at(tail - 1);
  return {low, at(kResamples - tail)};
}

std::pair<double, double> StudentInterval(double mean, double sd, double n) {
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.975);
  const double half = t * sd / std::sqrt(n);
  return {mean - half, mean + half};
}

}  // namespace

Summary Summarize(const std::vector<double>& values, Interval interval) {
  Summary summary;
  summary.n = static_cast<int>(values.size());
  if (values.empty()) return summary;
  summary.mean = MeanOf(values);
  if (values.size() < 2) return summary;
  const auto n = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - summary.mean) * (value - summary.mean);
  summary.sd = std::sqrt(squares / (n - 1));
  summary.ci95 = interval == Interval::bootstrap ? BootstrapInterval(values)
                                                 : StudentInterval(summary.mean, *summary.sd, n);
  return summary;
}

std::pair<double, double> WilsonInterval(double fraction, std::int64_t n) {
  const auto count = static_cast<double>(n);
  const double z2 = kNormal975 * kNormal975;
  const double centre = (fraction + z2 / (2 * count)) / (1 + z2 / count);
  const double half = kNormal975 / (1 + z2 / count) *
                      std::sqrt(fraction * (1 - fraction) / count + z2 / (4 * count * count));
  return {std::max(centre - half, 0.0), std::min(centre + half, 1.0)};
}

}  // namespace retort::orchestrator::cli
