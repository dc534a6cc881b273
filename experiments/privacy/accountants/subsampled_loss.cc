#include "experiments/privacy/accountants/subsampled_loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <vector>

#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/panels.h"

namespace retort::privacy {
namespace {

// In t, the outcome, and s = t / z^2. With a = e^(-1 / (2 z^2)) and n the density of N(0, z^2):
// P = n ((1-q) + q a e^s) and Q = n ((1-q) + q a e^-s).
class Replaced {
 public:
  explicit Replaced(const SubsampledStep& step) : q_(step.q), z_(step.multiplier), precision_(1 / (z_ * z_)) {
    // What N(1, z^2) has beyond it, by erfc(x) <= e^(-x^2).
    last_ = 1 + std::sqrt(-2 * std::log(step.tail)) * z_;
  }

  [[nodiscard]] double Loss(double t) const {
    return Mixed((2 * t - 1) * precision_ / 2) - Mixed((-2 * t - 1) * precision_ / 2);
  }
  // s where the loss is x >= 0: a quadratic in e^s, solved without cancellation.
  [[nodiscard]] double Outcome(double x) const {
    if (q_ == 1 || x == 0) return x / 2;
    const double log_odds = std::log1p(-q_) - std::log(q_) + precision_ / 2;  // of (1-q) / (q a)
    if (x / 2 + log_odds > 600) return x + log_odds + std::log1p(-std::exp(-x));
    return x / 2 + std::asinh(std::exp(log_odds) * std::sinh(x / 2));
  }
  // n a e^s, and n, per deviation: z times those per unit, which a large z would leave nothing of.
  [[nodiscard]] double Moved(double t, double s) const { return Density(t * t + 1, s); }
  [[nodiscard]] double Stayed(double t) const { return Density(t * t, 0); }
  // P beyond last(), and P below -last(), which is Q beyond last().
  [[nodiscard]] double Beyond(double mean) const {
    const auto tail = [this](double from) { return std::erfc(from / (z_ * std::numbers::sqrt2)) / 2; };
    return (1 - q_) * tail(last_) + q_ * tail(last_ - mean);
  }
  // How fast everything above changes, per unit of outcome.
  [[nodiscard]] double Rate() const { return (last_ + 1) * precision_ + 1 / z_; }
  [[nodiscard]] double q() const { return q_; }
  [[nodiscard]] double z() const { return z_; }
  [[nodiscard]] double precision() const { return precision_; }
  [[nodiscard]] double last() const { return last_; }

 private:
  // log((1-q) + q e^u).
  [[nodiscard]] double Mixed(double u) const {
    if (q_ == 1) return u;
    return u > 30 ? u + std::log(q_) + std::log1p((1 - q_) / q_ * std::exp(-u)) : std::log1p(q_ * std::expm1(u));
  }
  [[nodiscard]] double Density(double squares, double s) const {
    constexpr double kRoot = 0.3989422804014326779399460599343819;
    return kRoot * std::exp(s - squares * precision_ / 2);
  }
  double q_, z_, precision_, last_ = 0;
};

// Outcomes whose losses lie between low and high, 0 <= low < high, and those with the opposite losses.
struct MirroredPair {
  LossInterval gain, loss;
};

// Every term is at least 0, so nothing cancels: P - e^low Q is 0 where the loss is low, and grows from there;
// e^high Q - P is 0 where it is high, and falls towards there.
MirroredPair MakePair(const Replaced& m, double low, double high) {
  const double start = m.Outcome(low), end = m.Outcome(high);
  const double from = std::min(start / m.precision(), m.last());
  const double to = std::clamp(end / m.precision(), from, m.last());
  MirroredPair pair;
  const double q = m.q();
  VisitPanels(from, to, m.Rate(), [&](double t, double width) {
    const double weight = width / m.z();
    const double s = t * m.precision();
    const double grown = -q * std::expm1(start - s) * weight, left = -q * std::expm1(s - end) * weight;
    const double stayed = (1 - q) * m.Stayed(t) * weight;
    pair.gain.p += stayed + q * m.Moved(t, s) * weight;
    pair.loss.p += stayed + q * m.Moved(t, -s) * weight;
    pair.gain.rise += grown * (m.Moved(t, s) + m.Moved(t, low - start));
    pair.gain.fall += left * (m.Moved(t, end) + m.Moved(t, high - s));
    pair.loss.rise += left * (m.Moved(t, end - high) + m.Moved(t, -s));
    pair.loss.fall += grown * (m.Moved(t, s - low) + m.Moved(t, -start));
  });
  pair.gain.q = pair.loss.p;
  pair.loss.q = pair.gain.p;
  return pair;
}

DirectionGrid MakeReplacedGrid(const Replaced& m, double spacing) {
  const double most = m.Loss(m.last());
  std::vector<LossInterval> below, intervals;
  const std::vector<std::int64_t> edges = MakeLossEdges(0, most, spacing, 512);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const std::int64_t low = edges[i], high = edges[i + 1];
    MirroredPair pair = MakePair(m, static_cast<double>(low) * spacing, static_cast<double>(high) * spacing);
    pair.gain.low = low;
    pair.gain.high = high;
    pair.loss.low = -high;
    pair.loss.high = -low;
    below.push_back(pair.loss);
    intervals.push_back(pair.gain);
  }
  intervals.insert(intervals.begin(), below.rbegin(), below.rend());
  DirectionGrid grid = MakeDirectionGrid(intervals, spacing);
  // Beyond the last outcome an infinite loss; beyond its mirror image no more than the nearest interval's
  // upper end.
  if (const double below_all = m.Beyond(-1); below_all > 0) grid.more.push_back({intervals.front().high, below_all});
  grid.infinite += m.Beyond(1);
  return grid;
}

}  // namespace

ReleaseLoss MakeReplacedLoss(const SubsampledStep& step) {
  constexpr int kPoints = 4000;
  const Replaced m(step);
  ReleaseLoss release;
  const double stride = 2 * m.last() / kPoints;
  for (int i = 0; i < kPoints; ++i) {
    const double t = (i + 0.5) * stride - m.last();
    const double mass = (1 - step.q) * m.Stayed(t) + step.q * m.Moved(t, t * m.precision());
    if (!(mass > 0)) continue;
    release.loss.push_back(m.Loss(t));
    release.mass.push_back(mass * stride / m.z());
  }
  release.grid = [m](double spacing) { return MakeReplacedGrid(m, spacing); };
  return release;
}

double ComputeReplacedDeltaAtZero(double q, double z) { return q * std::erf(1 / z / std::numbers::sqrt2); }

namespace {

bool AreInRange(double q, double z, double epsilon) {
  return q > 0 && q <= 1 && z > 0 && std::isfinite(z) && std::isfinite(epsilon);
}

}  // namespace

double ComputeSubsampledDeltaRemove(double q, double z, double epsilon) {
  if (!AreInRange(q, z, epsilon)) return 1;
  const double odds = std::expm1(epsilon) / q;  // e^epsilon - 1, over q
  if (odds <= -1) return -std::expm1(epsilon);  // every loss is larger
  const double inner =
      epsilon > 30 ? epsilon - std::log(q) + std::log1p(-(1 - q) * std::exp(-epsilon)) : std::log1p(odds);
  return q * std::exp(ComputeGaussianLogDelta(inner, 1 / z));
}

double ComputeSubsampledDeltaAdd(double q, double z, double epsilon) {
  if (!AreInRange(q, z, epsilon)) return 1;
  const double kept = q - (1 - q) * std::expm1(epsilon);  // 1 - e^epsilon (1-q)
  if (kept <= 0) return 0;
  const double inner = epsilon + std::log(q) - std::log(kept);
  return kept * std::exp(ComputeGaussianLogDelta(inner, 1 / z));
}

}  // namespace retort::privacy
