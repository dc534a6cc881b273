#include "experiments/privacy/accountants/loss_composition.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstddef>
#include <limits>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/fourier.h"

namespace retort::privacy {
namespace {

using Real = long double;

// Where and how finely the sum is looked at. Any choice gives valid bounds; a bad one gives loose ones.
struct LossWindow {
  double tilt = 1;            // masses are weighted by e^(tilt * loss), > 0
  std::int64_t first = 0;     // index of the lowest sum looked at
  double rise = 1, fall = 1;  // > 0: exponents for the bounds of its tails above and below
  std::size_t points = 0;     // sums looked at, the plan's size
};

struct LossBounds {
  double lower = 0, upper = 0;  // of epsilon; upper is infinite where nothing is proven
};

constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;

// One distribution of one step's loss, tilted: mass * e^(tilt * loss) / e^log_moment, which adds up to 1.
class TiltedStep {
 public:
  // `rounding`: +1 inflates every mass by more than all rounding before it, -1 deflates. `off`: by how much,
  // relatively, masses are known to be off.
  TiltedStep(const std::vector<LossAtom>& atoms, double spacing, double tilt, double rounding, double off)
      : atoms_(atoms), spacing_(spacing) {
    constexpr double kQuadrature = 4e-14;
    logs_.reserve(atoms.size());
    for (const LossAtom& atom : atoms) {
      const double exponent = tilt * spacing * static_cast<double>(atom.index);
      const double log_mass = std::log(atom.mass);
      const double slack = kQuadrature + off + 8 * kUnit * (2 + std::abs(exponent) + std::abs(log_mass));
      logs_.push_back(log_mass + exponent + rounding * slack);
    }
    log_moment_ = logs_.empty() ? -kInfinity : LogMoment(0);
  }

  [[nodiscard]] bool empty() const { return atoms_.empty(); }
  [[nodiscard]] double log_moment() const { return log_moment_; }

  // Adds the masses to `out`, indices modulo its size.
  void AddTo(std::vector<double>& out) const {
    const auto size = static_cast<std::int64_t>(out.size());
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      const std::int64_t position = ((atoms_[i].index % size) + size) % size;
      out[static_cast<std::size_t>(position)] += std::exp(logs_[i] - log_moment_);
    }
  }

  // A bound on the tilted sum's mass above (theta > 0) or below (theta < 0) a loss [Chernoff].
  [[nodiscard]] double Tail(double steps, double loss, double theta) const {
    const double log = steps * (LogMoment(theta) - log_moment_ + 16 * kUnit) - theta * loss;
    return std::min(1.0, std::exp(log));
  }

 private:
  // log of the sum of masses * e^((tilt + theta) * loss).
  [[nodiscard]] double LogMoment(double theta) const {
    double most = -kInfinity;
    const auto at = [&](std::size_t i) { return logs_[i] + theta * spacing_ * static_cast<double>(atoms_[i].index); };
    for (std::size_t i = 0; i < atoms_.size(); ++i) most = std::max(most, at(i));
    Real sum = 0;
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      if (const double log = at(i) - most; log > -60) sum += std::exp(log);
    }
    return most + static_cast<double>(std::log(sum));  // what was left out is below e^-60 of the largest, each
  }

  const std::vector<LossAtom>& atoms_;
  double spacing_;
  std::vector<double> logs_;
  double log_moment_ = 0;
};

// Bounds on what a computed coefficient and its power miss.
struct PowerError {
  double linear = 0;   // sum over coefficients
  double squares = 0;  // sum of squares, of what is multiplied by the transform's own error
};

std::complex<double> Power(std::complex<double> base, std::int64_t exponent) {
  std::complex<double> power(1, 0);
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1)
      power = {power.real() * base.real() - power.imag() * base.imag(),
               power.real() * base.imag() + power.imag() * base.real()};
    base = {base.real() * base.real() - base.imag() * base.imag(), 2 * base.real() * base.imag()};
  }
  return power;
}

class Powers {
 public:
  Powers(std::int64_t steps, double transform_error)
      : steps_(steps),
        count_(static_cast<double>(steps)),
        transform_error_(transform_error),
        // Products of complex numbers err by sqrt(5) units each; a power by squaring is as good as count of
        // them.
        power_error_(std::expm1(3 * kUnit * count_)) {
    const double cut = std::exp(-kNegligible / count_) - transform_error;
    least_ = cut > 0 ? cut * cut : 0;
  }

  // value^steps; `weight` coefficients (1, or 2 for a conjugate pair) count this one's error.
  [[nodiscard]] std::complex<double> Of(std::complex<double> value, double weight, PowerError& error) const {
    const double square = std::norm(value);
    if (square < least_) {
      error.linear += weight * std::exp(-kNegligible);
      return {0, 0};
    }
    const double log_size = std::log(std::sqrt(square) + transform_error_);
    error.linear += weight * power_error_ * std::exp(count_ * log_size);
    error.squares += weight * std::exp(2 * (count_ - 1) * log_size);
    return Power(value, steps_);
  }
  // Largest error of one mass of the sum, before the backward transform's own.
  [[nodiscard]] double Mass(const PowerError& error, double points) const {
    return (error.linear + count_ * transform_error_ * std::sqrt(error.squares)) / points;
  }

 private:
  static constexpr double kNegligible = 80;
  std::int64_t steps_;
  double count_, transform_error_, power_error_;
  double least_ = 0;
};

// Masses of the tilted sums of both distributions, index modulo the size, and one bound on the error of each.
struct TiltedSums {
  std::vector<double> more, less;
  double error = 0;
};

double Norm(const std::vector<double>& a, const std::vector<double>& b) {
  Real sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<Real>(a[i]) * a[i] + static_cast<Real>(b[i]) * b[i];
  return static_cast<double>(std::sqrt(sum)) * (1 + 1e-12);
}

// Both in one complex transform: `more` is the real part, `less` the imaginary one.
TiltedSums ComputeSums(const TiltedStep& more, const TiltedStep& less, std::int64_t steps, const FourierPlan& plan,
                       std::size_t points) {
  TiltedSums sums;
  sums.more.assign(points, 0);
  sums.less.assign(points, 0);
  more.AddTo(sums.more);
  less.AddTo(sums.less);
  const auto size = static_cast<double>(points);
  const Powers powers(steps, plan.RelativeError() * std::sqrt(size) * Norm(sums.more, sums.less));
  plan.Forward(sums.more, sums.less);
  PowerError more_error;
  PowerError less_error;
  for (std::size_t i = 0; i < points; ++i) {
    const std::size_t j = FourierPlan::Opposite(i);
    if (j < i) continue;
    const double weight = i == j ? 1 : 2;
    const std::complex<double> a((sums.more[i] + sums.more[j]) / 2, (sums.less[i] - sums.less[j]) / 2);
    const std::complex<double> b((sums.less[i] + sums.less[j]) / 2, (sums.more[j] - sums.more[i]) / 2);
    const std::complex<double> p = powers.Of(a, weight, more_error);
    const std::complex<double> r = powers.Of(b, weight, less_error);
    sums.more[i] = p.real() - r.imag();
    sums.less[i] = p.imag() + r.real();
    sums.more[j] = p.real() + r.imag();
    sums.less[j] = r.real() - p.imag();
  }
  const double backward = plan.RelativeError() * Norm(sums.more, sums.less) / std::sqrt(size);
  sums.error = std::max(powers.Mass(more_error, size), powers.Mass(less_error, size)) + backward;
  plan.Backward(sums.more, sums.less);
  for (std::size_t i = 0; i < points; ++i) {
    sums.more[i] /= size;
    sums.less[i] /= size;
  }
  return sums;
}

// The curve delta(epsilon) = sum over losses S > epsilon of (1 - e^(epsilon - S)) P(S), moved by what the
// computation may miss, and where it crosses delta.
struct Curve {
  const std::vector<double>& masses;  // tilted
  double log_scale;                   // log of e^(steps * log moment)
  double missing;                     // tilted mass that is added (> 0) or taken off (< 0) at any epsilon
  double beyond;                      // tilted mass above the window
  double delta;                       // what remains of it, > 0
};

constexpr Real kLargestLog = 11000;  // of what a Real holds

// The epsilon at which the curve reaches delta, within the window; `before` when it stays below, infinity
// when it is above at the window's end.
double Crossing(const Curve& curve, double spacing, const LossWindow& window, double before) {
  const auto points = static_cast<std::int64_t>(window.points);
  const std::int64_t top = window.first + points - 1;
  const auto wrapped = [&](std::int64_t index) {
    return static_cast<std::size_t>(((index % points) + points) % points);
  };
  // Everything relative to the tilt's weight at `index`: over the whole window weights span more than a Real holds.
  // What overflows there is larger than all masses together, and what underflows is less than any.
  const Real tilt = window.tilt;
  const Real step = spacing;
  const Real shrink = std::exp(-tilt * step);
  const Real decay = std::exp(-step);
  // Of what is compared with delta; its logarithm until a Real holds it.
  Real log_target = std::log(static_cast<Real>(curve.delta)) - static_cast<Real>(curve.log_scale) +
                    tilt * step * static_cast<Real>(top);
  Real target = std::exp(log_target);
  Real beyond = curve.beyond;
  Real mass = 0;        // sum of weighted masses of S > index
  Real discounted = 0;  // the same times e^(index - S)
  for (std::int64_t index = top;; --index) {
    const Real missing = static_cast<Real>(curve.missing) + beyond;
    if (!(mass - discounted + missing <= target)) {  // also of what is no number
      if (index == top) return kInfinity;
      if (!(discounted > 0)) return static_cast<double>(static_cast<Real>(index + 1) * step);
      // Between index and index + 1 only the discount changes: e^inside = (mass + missing -
      // target)/discounted.
      const Real inside = std::log((mass + missing - target) / discounted);
      return static_cast<double>((static_cast<Real>(index) * step) + std::clamp(inside, Real{0}, step));
    }
    if (index == window.first) return before;
    const Real here = std::max(curve.masses[wrapped(index)], 0.0);
    mass = shrink * (mass + here);
    discounted = shrink * decay * (discounted + here);
    beyond *= shrink;
    log_target -= tilt * step;
    target = std::isfinite(target)      ? shrink * target
             : log_target < kLargestLog ? std::exp(log_target)
                                        : std::numeric_limits<Real>::infinity();
  }
}

// How far the masses are from adding up to 1. Fail closed: infinity for a distribution that lost mass, an atom without
// any, or a slack that is no number.
double OffMass(const DirectionGrid& grid) {
  constexpr Real kMax = 1e-11L;
  const auto weighs = [](const LossAtom& atom) { return atom.mass > 0; };
  if (!std::all_of(grid.more.begin(), grid.more.end(), weighs)) return kInfinity;
  if (!std::all_of(grid.less.begin(), grid.less.end(), weighs)) return kInfinity;
  if (!std::isfinite(grid.slack_mean) || !std::isfinite(grid.slack_variance)) return kInfinity;
  Real mass = grid.infinite;
  for (const LossAtom& atom : grid.more) mass += atom.mass;
  const Real off = std::abs(mass - 1);
  return off <= kMax ? static_cast<double>(off) : kInfinity;
}

// epsilon >= 0 at delta in (0, 1) of `steps` >= 1 losses.
LossBounds BoundSum(const DirectionGrid& grid, double spacing, std::int64_t steps, double delta,
                    const LossWindow& window, const FourierPlan& plan) {
  const auto count = static_cast<double>(steps);
  LossBounds bounds{0, kInfinity};
  const double off = 2 * OffMass(grid);
  if (!std::isfinite(off)) return bounds;
  const TiltedStep more(grid.more, spacing, window.tilt, 1, off);
  const TiltedStep less(grid.less, spacing, window.tilt, -1, off);
  if (more.empty() || less.empty() || !std::isfinite(more.log_moment()) || !std::isfinite(less.log_moment()))
    return bounds;
  const TiltedSums sums = ComputeSums(more, less, steps, plan, window.points);
  const double below = static_cast<double>(window.first) * spacing;
  const double extent = static_cast<double>(window.points - 1) * spacing;
  const double above = below + extent;
  // An error of one mass counts once for each sum above epsilon, weighted by the tilt.
  const double repeats = std::min(static_cast<double>(window.points), 1 - 1 / std::expm1(-window.tilt * spacing));
  const double rounding = sums.error * repeats;
  const auto log_scale = [&](const TiltedStep& step, double sign) {
    return count * step.log_moment() +
           sign * 8 * kUnit *
               (count + std::abs(count * step.log_moment()) + window.tilt * (std::abs(below) + std::abs(above)));
  };
  const double spent = count * grid.infinite * (1 + 1e-9);
  if (spent < delta) {
    // Sums outside the window stand inside it modulo its size, which adds to `upper` alone.
    const Curve curve = {sums.more, log_scale(more, 1), rounding, more.Tail(count, above, window.rise), delta - spent};
    const double upper = Crossing(curve, spacing, window, below);
    // Each edge between intervals may stand a few units off its loss.
    bounds.upper = std::max(0.0, upper * (1 + 1e-14) + count * 1e-15 * (1 + spacing));
  }
  // Bernstein: below this the slacks of all steps fall with a probability of at most delta / 10^6.
  const double rare = std::log(1e6) - std::log(delta);
  const double range = grid.slack_mean - grid.slack_least;
  const double third = range * rare / 3;
  const double slack =
      count * grid.slack_mean - third - std::sqrt(third * third + 2 * count * grid.slack_variance * rare);
  // A sum that stands inside the window by mistake and above epsilon is below the window or above epsilon
  // plus its extent. Where the crossing turns out below the epsilon assumed here, the window's start is.
  for (const double assumed : {std::max(below, bounds.upper - 0.02 * std::abs(bounds.upper)), below}) {
    if (!std::isfinite(assumed)) continue;
    const double strays = less.Tail(count, below, -window.fall) + less.Tail(count, assumed + extent, window.rise);
    const Curve curve = {sums.less, log_scale(less, -1), -rounding - strays, 0, delta * (1 + 1e-6)};
    const double crossing = Crossing(curve, spacing, window, -kInfinity);
    if (!(crossing >= assumed && crossing < kInfinity)) continue;
    bounds.lower = std::max(0.0, crossing * (1 - 1e-14) + slack - count * 1e-15 * (1 + spacing));
    break;
  }
  return bounds;
}

constexpr std::size_t kMinPoints = std::size_t{1} << 12;
constexpr std::size_t kMaxPoints = std::size_t{1} << 20;

// log of the tilted moment of one step, its mean and its variance, from sampled points.
struct Moments {
  double log = 0, mean = 0, variance = 0;
};

Moments MomentsAt(const std::vector<double>& loss, const std::vector<double>& mass, double tilt) {
  double most = -kInfinity;
  std::vector<double> logs(loss.size());
  for (std::size_t i = 0; i < loss.size(); ++i) {
    logs[i] = std::log(mass[i]) + tilt * loss[i];
    most = std::max(most, logs[i]);
  }
  double sum = 0;
  double first = 0;
  double second = 0;
  for (std::size_t i = 0; i < loss.size(); ++i) {
    const double weight = std::exp(logs[i] - most);
    sum += weight;
    first += weight * loss[i];
    second += weight * loss[i] * loss[i];
  }
  const double mean = first / sum;
  return {most + std::log(sum), mean, std::max(second / sum - mean * mean, 0.0)};
}

// The tilt, scale and extent, estimated.
struct Outlook {
  double tilt = 1, deviation = 1, epsilon = 0;
  double low = 0, extent = 0;  // window of the tilted sum
  double rise = 1, fall = 1;   // exponents of its tail bounds
};

// `near`: counts that only 1 - e^(epsilon - S) of a mass at S > epsilon is delta's, at most tilt^tilt /
// (1 + tilt)^(1 + tilt) of e^(tilt * (S - epsilon)). Where a largest loss has a mass of its own, the crossing
// lies far below what is best without.
Outlook MakeOutlook(const ReleaseLoss& release, double steps, double delta, bool near) {
  const auto moments = [&](double tilt) { return MomentsAt(release.loss, release.mass, tilt); };
  // Chernoff: delta(epsilon) <= e^{steps * log moment - tilt * epsilon}, best where the mean is epsilon.
  const auto bound = [&](double log_tilt) {
    const double tilt = std::exp(log_tilt);
    const double factor = near ? tilt * log_tilt - (1 + tilt) * std::log1p(tilt) : 0;
    return (steps * moments(tilt).log + factor - std::log(delta)) / tilt;
  };
  constexpr double kGolden = 0.6180339887498949;
  double from = std::log(1e-4);
  // Losses that are all small take larger tilts.
  constexpr double kMaxTilt = 1e8;
  const double spread = std::min(std::sqrt(moments(0).variance), 1.0);
  double to = std::log(release.most_tilt.value_or(kMaxTilt / spread));
  double left = to - kGolden * (to - from);
  double right = from + kGolden * (to - from);
  double at_left = bound(left);
  double at_right = bound(right);
  while (to - from > 1e-2) {
    if (at_left < at_right) {
      to = right;
      right = left;
      at_right = at_left;
      at_left = bound(left = to - kGolden * (to - from));
    } else {
      from = left;
      left = right;
      at_left = at_right;
      at_right = bound(right = from + kGolden * (to - from));
    }
  }
  Outlook outlook;
  outlook.tilt = std::exp((from + to) / 2);
  const Moments best = moments(outlook.tilt);
  outlook.epsilon = steps * best.mean;
  outlook.deviation = std::sqrt(steps * best.variance);
  // Sums rarer than e^-18 (tilted) are left out on both sides; above the window they weigh less still.
  constexpr double kRare = 18;
  outlook.low = -kInfinity;
  double high = kInfinity;
  double reach = kInfinity;
  for (double turn = 0.5; turn < 40; turn *= 1.4) {
    const double theta = turn / outlook.deviation;
    const double up = steps * (moments(outlook.tilt + theta).log - best.log);
    const double down = steps * (moments(outlook.tilt - theta).log - best.log);
    high = std::min(high, (kRare + up + outlook.tilt * outlook.epsilon) / (theta + outlook.tilt));
    if ((kRare + up) / theta < reach) {
      reach = (kRare + up) / theta;
      outlook.rise = theta;
    }
    if (-(kRare + down) / theta > outlook.low) {
      outlook.low = -(kRare + down) / theta;
      outlook.fall = theta;
    }
  }
  // The epsilon at delta lies below the Chernoff bound, by about a deviation.
  outlook.extent = std::max(high - outlook.low, reach - outlook.epsilon + 1.5 * outlook.deviation);
  return outlook;
}

// Refines until the bracket is narrow or the transform as large as it may be. False where finer grids only
// bring more rounding, since delta is crossed where the tilt leaves next to nothing.
bool Refine(const ReleaseLoss& release, std::int64_t steps, double delta, double precision,
            const RefinementGoal& enough, const Outlook& outlook, LossBracket& best) {
  // Spreading a loss inside an interval of width h adds about h^2/6 to its variance, and so about
  // (1 + tilt) * steps * h^2 / 12 to epsilon.
  const double fine =
      std::sqrt(12 * precision * std::max(outlook.epsilon, 1e-3) / ((1 + outlook.tilt) * static_cast<double>(steps)));
  const double wanted =
      std::clamp(1.02 * outlook.extent / fine, static_cast<double>(kMinPoints), static_cast<double>(kMaxPoints));
  const std::size_t first = std::bit_ceil(static_cast<std::size_t>(wanted));
  // Losses are counted in spacings.
  constexpr double kMaxIndex = 0x1p52;
  double largest = 0;
  for (const double loss : release.loss) largest = std::max(largest, std::abs(loss));
  const double finest = 1.02 * outlook.extent / static_cast<double>(kMaxPoints);
  if (!(2 * std::max(largest, std::abs(outlook.low)) < kMaxIndex * finest)) return true;
  for (std::size_t points = first; points <= kMaxPoints; points *= 2) {
    const double spacing = 1.02 * outlook.extent / static_cast<double>(points);
    LossWindow window;
    window.tilt = outlook.tilt;
    window.rise = outlook.rise;
    window.fall = outlook.fall;
    window.first = static_cast<std::int64_t>(std::floor((outlook.low - 0.01 * outlook.extent) / spacing));
    window.points = points;
    const FourierPlan plan(points);
    const LossBounds bounds = BoundSum(release.grid(spacing), spacing, steps, delta, window, plan);
    best.spacing = spacing;
    best.points = static_cast<std::int64_t>(points);
    best.upper = std::min(best.upper, bounds.upper);
    best.lower = std::max(best.lower, bounds.lower);
    if (std::isinf(best.upper)) {
      if (points >= 4 * first) return true;
      continue;
    }
    if (best.upper <= enough.upper) return true;
    if (best.upper - best.lower <= enough.width * best.upper + 1e-6) return true;
    if (bounds.lower <= 0 && bounds.upper > best.upper) return false;
  }
  return true;
}

}  // namespace

LossBracket BracketSum(const ReleaseLoss& release, std::int64_t steps, double delta, double precision,
                       const RefinementGoal& enough) {
  LossBracket best;
  for (const bool near : {false, true}) {
    const Outlook outlook = MakeOutlook(release, static_cast<double>(steps), delta, near);
    if (!std::isfinite(outlook.low) || !std::isfinite(outlook.extent) || !(outlook.deviation > 0)) continue;
    if (Refine(release, steps, delta, precision, enough, outlook, best)) break;
  }
  return best;
}

}  // namespace retort::privacy
