#include "worker/audit/likelihood_attacks.h"

#include <algorithm>
#include <cmath>

namespace retort::worker::audit {
namespace {

// Scores that are no numbers, or beyond what squares and exponentials hold, are as far out as this.
double Bounded(double score) { return std::clamp(std::isnan(score) ? -700.0 : score, -700.0, 700.0); }

// Mean and deviation of scores of shadows on one side: those that were trained on an example, or those that were not.
struct Side {
  std::vector<double> mean;  // of each example; where it has no such shadow, of all examples
  double deviation = 1;      // about the means, pooled; 1 where nothing says
};

Side Summarise(const ShadowScores& shadows, bool trained) {
  const std::size_t examples = shadows.pool.front().size();
  std::vector<double> sum(examples), square(examples), count(examples);
  for (std::size_t shadow = 0; shadow < shadows.shadows(); ++shadow) {
    for (std::size_t i = 0; i < examples; ++i) {
      if (shadows.trained[shadow][i] != trained) continue;
      const double score = Bounded(shadows.pool[shadow][i]);
      sum[i] += score;
      square[i] += score * score;
      ++count[i];
    }
  }
  double spread = 0, freedom = 0, total = 0, seen = 0;
  for (std::size_t i = 0; i < examples; ++i) {
    total += sum[i];
    seen += count[i];
    if (count[i] < 2) continue;
    spread += square[i] - sum[i] * sum[i] / count[i];
    freedom += count[i] - 1;
  }
  Side side;
  if (freedom > 0 && spread > 0) side.deviation = std::sqrt(spread / freedom);
  side.mean.resize(examples);
  const double grand = seen > 0 ? total / seen : 0;
  for (std::size_t i = 0; i < examples; ++i) side.mean[i] = count[i] > 0 ? sum[i] / count[i] : grand;
  return side;
}

// log p of log(p / (1 - p)).
double LogProbability(double score) { return -std::log1p(std::exp(-Bounded(score))); }

// Logarithm of the mean of exp(values).
class LogMean {
 public:
  void Add(double value) {
    const double top = std::max(top_, value);
    sum_ = (count_ > 0 ? sum_ * std::exp(top_ - top) : 0) + std::exp(value - top);
    top_ = top;
    ++count_;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] double value() const { return top_ + std::log(sum_ / static_cast<double>(count_)); }

 private:
  double top_ = -2000, sum_ = 0;
  std::size_t count_ = 0;
};

// Of each example of the pool: log(p under the attacked network) - log(mean p under shadows).
Scores PoolRatios(const Scores& scores, const ShadowScores& shadows) {
  Scores ratios(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    LogMean in, out;
    for (std::size_t shadow = 0; shadow < shadows.shadows(); ++shadow)
      (shadows.trained[shadow][i] ? in : out).Add(LogProbability(shadows.pool[shadow][i]));
    LogMean sides;
    if (!in.empty()) sides.Add(in.value());
    if (!out.empty()) sides.Add(out.value());
    ratios[i] = LogProbability(scores[i]) - sides.value();
  }
  return ratios;
}

Scores PopulationRatios(const Scores& population, const ShadowScores& shadows) {
  Scores ratios(population.size());
  for (std::size_t i = 0; i < population.size(); ++i) {
    LogMean all;
    for (const Scores& shadow : shadows.population) all.Add(LogProbability(shadow[i]));
    ratios[i] = LogProbability(population[i]) - all.value();
  }
  return ratios;
}

}  // namespace

Scores ScoreOfflineLira(const Scores& scores, const ShadowScores& shadows) {
  const Side out = Summarise(shadows, false);
  Scores result(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) result[i] = (Bounded(scores[i]) - out.mean[i]) / out.deviation;
  return result;
}

Scores ScoreLira(const Scores& scores, const ShadowScores& shadows) {
  const Side in = Summarise(shadows, true), out = Summarise(shadows, false);
  Scores result(scores.size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double above_out = (Bounded(scores[i]) - out.mean[i]) / out.deviation;
    const double above_in = (Bounded(scores[i]) - in.mean[i]) / in.deviation;
    result[i] = (above_out * above_out - above_in * above_in) / 2 + std::log(out.deviation / in.deviation);
  }
  return result;
}

Scores ScoreRmia(const Scores& scores, const Scores& population, const ShadowScores& shadows) {
  const Scores ratios = PoolRatios(scores, shadows);
  Scores others = PopulationRatios(population, shadows);
  std::sort(others.begin(), others.end());
  const double all = std::max<double>(1, static_cast<double>(others.size()));
  Scores result(ratios.size());
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    const auto beaten = std::upper_bound(others.begin(), others.end(), ratios[i] - std::log(kRmiaGamma));
    // A ratio adds less than half of what one more example of the population would.
    const double place = 0.5 / (1 + std::exp(-ratios[i] / 100));
    result[i] = (static_cast<double>(beaten - others.begin()) + place) / all;
  }
  return result;
}

}  // namespace retort::worker::audit
