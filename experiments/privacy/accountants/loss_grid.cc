#include "experiments/privacy/accountants/loss_grid.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>

#include "experiments/privacy/accountants/panels.h"

namespace retort::privacy {
namespace {

struct BothWays {
  LossInterval remove, add;
};

// The loss under remove as a function of the outcome t: log(1 - q + q e^{(2t-1)/(2 z^2)}), which grows.
class Mechanism {
 public:
  explicit Mechanism(const SubsampledStep& step) : q_(step.q), z_(step.multiplier), precision_(1 / (z_ * z_)) {
    // Tails of N(0, z^2) to the left and of N(1, z^2) to the right, by erfc(x) <= e^{-x^2}.
    const double far = std::sqrt(-2 * std::log(step.tail)) * z_;
    first_ = -far;
    last_ = 1 + far;
  }

  [[nodiscard]] double Loss(double t) const {
    const double exponent = (2 * t - 1) * precision_ / 2;
    if (q_ == 1) return exponent;
    return exponent > 30 ? exponent + std::log(q_) + std::log1p((1 - q_) / q_ * std::exp(-exponent))
                         : std::log1p(q_ * std::expm1(exponent));
  }
  // e^x - (1 - q); at most 0 where the loss never gets as low as x.
  [[nodiscard]] double Excess(double x) const { return x < -0.5 ? std::exp(x) - (1 - q_) : std::expm1(x) + q_; }
  // Where the loss is x; -infinity where it never gets that low.
  [[nodiscard]] double Outcome(double x) const {
    if (q_ == 1) return z_ * z_ * x + 0.5;
    const double log_excess = x > 30 ? x + std::log1p(-(1 - q_) * std::exp(-x)) : std::log(std::fmax(Excess(x), 0.0));
    return z_ * z_ * (log_excess - std::log(q_)) + 0.5;
  }
  // The moved component's share of the mixture over noise at loss x: Excess(x) / e^x.
  [[nodiscard]] double Share(double x) const {
    if (q_ == 1) return 1;
    return x > 30 ? 1 - (1 - q_) * std::exp(-x) : Excess(x) * std::exp(-x);
  }
  // Density of N(0, z^2) per deviation: z times that per unit, which a large z would leave nothing of.
  [[nodiscard]] double Noise(double t) const {
    constexpr double kRoot = 0.3989422804014326779399460599343819;
    return kRoot * std::exp(-(t / z_) * (t / z_) / 2);
  }
  [[nodiscard]] double q() const { return q_; }
  [[nodiscard]] double z() const { return z_; }
  [[nodiscard]] double precision() const { return precision_; }
  [[nodiscard]] double first() const { return first_; }
  [[nodiscard]] double last() const { return last_; }
  // Mass beyond the ends.
  [[nodiscard]] double Below(double mean) const { return Tail((mean - first_) / z_); }
  [[nodiscard]] double Above(double mean) const { return Tail((last_ - mean) / z_); }

 private:
  static double Tail(double deviations) { return std::erfc(deviations / std::numbers::sqrt2) / 2; }
  double q_, z_, precision_, first_ = 0, last_ = 0;
};

// Outcomes from `from` to `to` of the interval whose losses lie between those of `start` and `end`.
struct Span {
  double from, to;
  double start, end;             // start = -infinity where the loss never gets as low as the interval's
  double low, high;              // losses there
  double low_share, high_share;  // Share of them
};

// Each direction's integrals are weighted by that direction's P, so that neither underflows before its own
// mass. `weight` is in deviations.
void AddOutcome(const Mechanism& m, double t, double weight, const Span& span, BothWays& sum) {
  const bool everything = std::isinf(span.start);
  const double noise = weight * m.Noise(t);
  const double moved = weight * m.q() * m.Noise(t - 1);
  const double mixture = (1 - m.q()) * noise + moved;
  const double to_end = (span.end - t) * m.precision();
  const double from_start = (t - span.start) * m.precision();
  sum.remove.p += mixture;
  sum.remove.q += noise;
  sum.remove.rise += everything ? (1 - m.q() - std::exp(span.low)) * noise + moved : -moved * std::expm1(-from_start);
  // Wide intervals: the exponential alone would overflow.
  sum.remove.fall += to_end > 30 ? m.Excess(span.high) * noise - moved : moved * std::expm1(to_end);
  sum.add.rise -= span.high_share * noise * std::expm1(-to_end);
  sum.add.fall += everything || from_start > 30 ? std::exp(-span.low) * mixture - noise
                                                : span.low_share * noise * std::expm1(from_start);
}

void Integrate(const Mechanism& m, const Span& span, BothWays& sum) {
  // How fast the integrands change, per unit of outcome.
  const double reach = std::max({std::abs(span.from), std::abs(span.to), std::abs(span.to - 1)});
  const double rate = (reach + 1) * m.precision() + 1 / m.z();
  VisitPanels(span.from, span.to, rate, [&](double t, double weight) { AddOutcome(m, t, weight / m.z(), span, sum); });
}

// Edges from 0 outwards to `limit` > 0: h apart, then a `share`-th of the loss.
std::vector<std::int64_t> EdgesTo(double limit, std::int64_t share) {
  std::vector<std::int64_t> edges = {0};
  while (static_cast<double>(edges.back()) < limit)
    edges.push_back(edges.back() + std::max<std::int64_t>(1, edges.back() / share));
  return edges;
}

std::vector<BothWays> MakeIntervals(const Mechanism& m, double spacing) {
  const std::vector<std::int64_t> edges = MakeLossEdges(m.Loss(m.first()), m.Loss(m.last()), spacing, 512);
  std::vector<BothWays> intervals;
  intervals.reserve(edges.size());
  double low = static_cast<double>(edges.front()) * spacing;
  double start = m.Outcome(low);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const double high = static_cast<double>(edges[i + 1]) * spacing;
    const double end = m.Outcome(high);
    const double from = std::max(start, m.first());
    const double to = std::clamp(end, from, std::max(from, m.last()));
    BothWays interval;
    interval.remove.low = edges[i];
    interval.remove.high = edges[i + 1];
    interval.add.low = -edges[i + 1];
    interval.add.high = -edges[i];
    Integrate(m, {from, to, start, end, low, high, m.Share(low), m.Share(high)}, interval);
    interval.add.p = interval.remove.q;
    interval.add.q = interval.remove.p;
    intervals.push_back(interval);
    low = high;
    start = end;
  }
  return intervals;
}

// What the least doubles leave of an interval is off by less. Exponents weigh the rarest losses most, so that nothing
// of an interval's mass may be lost.
constexpr double kLeastMass = 1e-300;

void AddMore(const std::vector<LossInterval>& intervals, double spacing, DirectionGrid& grid) {
  grid.more.reserve(2 * intervals.size());
  grid.infinite += 2 * kLeastMass * static_cast<double>(intervals.size());
  for (const LossInterval& interval : intervals) {
    if (interval.p < kLeastMass) continue;
    const double width = static_cast<double>(interval.high - interval.low) * spacing;
    // The smaller share keeps its digits; the other is the rest, so that no mass is lost.
    double to_high = interval.rise / -std::expm1(-width);
    double to_low = interval.fall / std::expm1(width);
    if (to_high < interval.p / 2)
      to_low = interval.p - to_high;
    else
      to_high = interval.p - std::clamp(to_low, 0.0, interval.p);
    if (to_low > 0) grid.more.push_back({interval.low, to_low});
    if (to_high > 0) grid.more.push_back({interval.high, to_high});
  }
}

void AddLess(const std::vector<LossInterval>& intervals, double spacing, DirectionGrid& grid) {
  const double least = -spacing / 4;
  double known = 0;
  const auto add = [&](std::int64_t index, double mass, double slack) {
    if (!(mass > 0)) return;
    grid.less.push_back({index, mass});
    known += mass;
    grid.slack_mean += mass * slack;
    grid.slack_variance += mass * slack * slack;
  };
  // The outermost halves stay alone.
  const auto alone = [&](const LossInterval& interval) {
    const double slack = interval.p > 0 ? -std::log1p(-interval.rise / interval.p) : 0;
    const double width = static_cast<double>(interval.high - interval.low) * spacing;
    add(interval.low, interval.p / 2, std::isfinite(slack) ? std::clamp(slack, 0.0, width) : 0);
  };
  alone(intervals.front());
  for (std::size_t i = 0; i + 1 < intervals.size(); ++i) {
    const LossInterval& below = intervals[i];
    const LossInterval& above = intervals[i + 1];
    const double p = (below.p + above.p) / 2;
    const double slack = p > 0 ? -std::log1p(-(above.rise - below.fall) / (2 * p)) : 0;
    if (slack >= least) {
      add(above.low, p, slack);
    } else {  // too far below its edge: labelled by the one before
      const double width = static_cast<double>(below.high - below.low) * spacing;
      add(below.low, p, std::clamp(width + slack, 0.0, width));
    }
  }
  alone(intervals.back());
  // What is missing has no label, so it may be given any slack: the mean of the rest.
  grid.slack_mean /= known;
  grid.slack_variance /= known;
  grid.slack_least = least;
}

}  // namespace

std::vector<std::int64_t> MakeLossEdges(double least, double most, double spacing, std::int64_t share) {
  std::vector<std::int64_t> edges = EdgesTo(-least / spacing, share);
  for (std::int64_t& edge : edges) edge = -edge;
  std::reverse(edges.begin(), edges.end());
  const std::vector<std::int64_t> upper = EdgesTo(most / spacing, share);
  edges.insert(edges.end(), upper.begin() + 1, upper.end());
  return edges;
}

DirectionGrid MakeDirectionGrid(const std::vector<LossInterval>& intervals, double spacing) {
  DirectionGrid grid;
  AddMore(intervals, spacing, grid);
  AddLess(intervals, spacing, grid);
  return grid;
}

LossGrid MakeGrid(const SubsampledStep& step, double spacing) {
  const Mechanism mechanism(step);
  const std::vector<BothWays> both = MakeIntervals(mechanism, spacing);
  std::vector<LossInterval> removal;
  std::vector<LossInterval> addition;
  for (const BothWays& one : both) removal.push_back(one.remove);
  for (auto one = both.rbegin(); one != both.rend(); ++one) addition.push_back(one->add);
  LossGrid grid;
  grid.spacing = spacing;
  grid.remove = MakeDirectionGrid(removal, spacing);
  grid.add = MakeDirectionGrid(addition, spacing);
  // Beyond the first and the last outcome: an infinite loss, or no more than the nearest interval's upper
  // end.
  const double q = step.q;
  const auto give = [](DirectionGrid& direction, std::int64_t index, double mass) {
    if (mass > 0) direction.more.push_back({index, mass});
  };
  give(grid.remove, removal.front().high, (1 - q) * mechanism.Below(0) + q * mechanism.Below(1));
  grid.remove.infinite += (1 - q) * mechanism.Above(0) + q * mechanism.Above(1);
  give(grid.add, addition.front().high, mechanism.Above(0));
  grid.add.infinite += mechanism.Below(0);
  return grid;
}

LossSample MakeSample(const SubsampledStep& step) {
  const Mechanism mechanism(step);
  const double width = mechanism.z() / 8;
  LossSample sample;
  const double from = mechanism.first();
  const auto count = static_cast<std::size_t>(std::ceil((mechanism.last() - from) / width));
  // Small noise needs no finer points: an estimate is all that is asked for.
  const double stride = (mechanism.last() - from) / static_cast<double>(std::min<std::size_t>(count, 4000));
  const double deviations = stride / mechanism.z();
  for (double t = from + stride / 2; t < mechanism.last(); t += stride) {
    const double noise = mechanism.Noise(t) * deviations;
    sample.loss.push_back(mechanism.Loss(t));
    sample.add.push_back(noise);
    sample.remove.push_back((1 - step.q) * noise + step.q * mechanism.Noise(t - 1) * deviations);
  }
  return sample;
}

}  // namespace retort::privacy
