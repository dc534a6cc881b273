#include "experiments/sweep/tpe.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace retort {
namespace {

constexpr std::uint64_t kCandidates = 24;  // drawn from the density of good points, of which the best ratio is kept
constexpr double kGoodShare = 0.15;        // of the points with a score
constexpr std::size_t kMaxGood = 25;
constexpr double kPriorMean = 0.5, kPriorWidth = 1;  // on the unit scale
constexpr double kMaxSharpness = 100;                // the narrowest kernel is a hundredth of the scale
constexpr std::uint64_t kRetries = 64;               // of a kernel's draw outside the scale, and of a taken point

double NormalCdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// A mixture of normal kernels truncated to [0, 1], one at each point and a wide one as prior, all of the same weight.
class ParzenEstimator {
 public:
  explicit ParzenEstimator(std::vector<double> points) : means_(std::move(points)) {
    means_.push_back(kPriorMean);
    std::sort(means_.begin(), means_.end());
    const auto count = static_cast<double>(means_.size());
    const double least = kPriorWidth / std::min(kMaxSharpness, count);
    const auto prior = static_cast<std::size_t>(std::find(means_.begin(), means_.end(), kPriorMean) - means_.begin());
    for (std::size_t i = 0; i < means_.size(); ++i) {
      // As far as the farther neighbour, the ends of the scale among them.
      const double before = i == 0 ? means_[i] : means_[i] - means_[i - 1];
      const double after = i + 1 == means_.size() ? 1 - means_[i] : means_[i + 1] - means_[i];
      widths_.push_back(i == prior ? kPriorWidth : std::clamp(std::max(before, after), least, kPriorWidth));
      masses_.push_back(NormalCdf((1 - means_[i]) / widths_[i]) - NormalCdf(-means_[i] / widths_[i]));
    }
  }

  [[nodiscard]] double LogDensity(double x) const {
    double sum = 0;
    for (std::size_t i = 0; i < means_.size(); ++i) {
      const double z = (x - means_[i]) / widths_[i];
      sum += std::exp(-0.5 * z * z) / (widths_[i] * masses_[i]);
    }
    return std::log(std::max(sum, std::numeric_limits<double>::min()) / static_cast<double>(means_.size()));
  }

  [[nodiscard]] double Draw(const RngStream& stream) const {
    const auto kernel = static_cast<std::size_t>(stream.Below(0, static_cast<std::int64_t>(means_.size())));
    for (std::uint64_t i = 0; i < kRetries; ++i) {
      const double x = means_[kernel] + widths_[kernel] * DrawNormalPair(1 + 2 * i, stream).first;
      if (x >= 0 && x < 1) return x;
    }
    return means_[kernel];
  }

 private:
  std::vector<double> means_, widths_, masses_;
};

// How often each choice was taken, and once more.
class ChoiceEstimator {
 public:
  ChoiceEstimator(std::size_t choices, const std::vector<std::size_t>& taken) : weights_(choices, 1.0) {
    for (const std::size_t choice : taken) weights_.at(choice) += 1;
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  }
  [[nodiscard]] double LogProbability(std::size_t choice) const { return std::log(weights_.at(choice) / total_); }
  [[nodiscard]] std::size_t Draw(double unit) const {
    double left = unit * total_;
    for (std::size_t i = 0; i + 1 < weights_.size(); ++i)
      if ((left -= weights_[i]) < 0) return i;
    return weights_.size() - 1;
  }

 private:
  std::vector<double> weights_;
  double total_ = 0;
};

struct Split {
  std::vector<const SearchPoint*> good, bad;
};

// Equal scores stand in the order in which they were tried.
Split SplitByScore(std::span<const TriedPoint> tried) {
  std::vector<const TriedPoint*> scored;
  Split split;
  for (const TriedPoint& one : tried) {
    if (one.score && std::isfinite(*one.score))
      scored.push_back(&one);
    else
      split.bad.push_back(&one.point);
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const TriedPoint* a, const TriedPoint* b) { return *a->score > *b->score; });
  const auto share = static_cast<std::size_t>(std::ceil(kGoodShare * static_cast<double>(scored.size())));
  const std::size_t count = std::min(share, kMaxGood);
  for (std::size_t i = 0; i < scored.size(); ++i) (i < count ? split.good : split.bad).push_back(&scored[i]->point);
  return split;
}

KeyValue SuggestNumber(const SearchDimension& dimension, std::size_t place, const Split& split,
                       const RngStream& stream) {
  const auto estimate = [&](const std::vector<const SearchPoint*>& points) {
    std::vector<double> units;
    for (const SearchPoint* point : points) units.push_back(ComputeUnit(dimension, (*point)[place]));
    return ParzenEstimator(std::move(units));
  };
  const ParzenEstimator good = estimate(split.good), bad = estimate(split.bad);
  double best = kPriorMean, best_ratio = -std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < kCandidates; ++i) {
    const double unit = good.Draw(stream.Lane(i));
    const double ratio = good.LogDensity(unit) - bad.LogDensity(unit);
    if (ratio <= best_ratio) continue;
    best = unit;
    best_ratio = ratio;
  }
  return ComputeValueAt(dimension, best);
}

KeyValue SuggestChoice(const SearchDimension& dimension, std::size_t place, const Split& split,
                       const RngStream& stream) {
  const auto estimate = [&](const std::vector<const SearchPoint*>& points) {
    std::vector<std::size_t> choices;
    for (const SearchPoint* point : points) choices.push_back(FindChoice(dimension, (*point)[place]));
    return ChoiceEstimator(dimension.choices.size(), choices);
  };
  const ChoiceEstimator good = estimate(split.good), bad = estimate(split.bad);
  std::size_t best = 0;
  double best_ratio = -std::numeric_limits<double>::infinity();
  for (std::uint64_t i = 0; i < kCandidates; ++i) {
    const std::size_t choice = good.Draw(stream.Uniform(i));
    const double ratio = good.LogProbability(choice) - bad.LogProbability(choice);
    if (ratio <= best_ratio) continue;
    best = choice;
    best_ratio = ratio;
  }
  return dimension.choices[best];
}

}  // namespace

SearchPoint SuggestByTpe(const SearchSpec& spec, std::size_t index, std::span<const TriedPoint> tried,
                         const std::set<SearchPoint>& taken) {
  const Split split = SplitByScore(tried);
  if (split.good.empty()) return DrawPoint(spec, index, taken);
  for (std::uint64_t retry = 0; retry < kRetries; ++retry) {
    const RngStream stream = MakePointStream(spec, index).Lane(retry + 1);
    SearchPoint point;
    for (std::size_t i = 0; i < spec.space.size(); ++i) {
      const SearchDimension& dimension = spec.space[i];
      const RngStream own = stream.Lane(i);
      point.push_back(dimension.choices.empty() ? SuggestNumber(dimension, i, split, own)
                                                : SuggestChoice(dimension, i, split, own));
    }
    if (!taken.contains(point)) return point;
  }
  return DrawPoint(spec, index, taken);
}

}  // namespace retort
