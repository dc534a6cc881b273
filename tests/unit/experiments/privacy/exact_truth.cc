#include "tests/unit/experiments/privacy/exact_truth.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace retort::privacy {
namespace {

using boost::multiprecision::exp;
using boost::multiprecision::expm1;
using boost::multiprecision::log;
using boost::multiprecision::log1p;
using boost::multiprecision::sqrt;

// The normal law's upper tail.
Exact Beyond(const Exact& x) { return boost::math::erfc(x / sqrt(Exact(2))) / 2; }

Exact Density(const Exact& x) { return exp(-x * x / 2) / sqrt(2 * boost::math::constants::pi<Exact>()); }

// Beyond(x) / Density(x).
Exact Mills(const Exact& x) {
  if (x < 12) return Beyond(x) / Density(x);
  Exact tail = 0;
  for (int k = 120; k >= 1; --k) tail = k / (x + tail);
  return 1 / (x + tail);
}

}  // namespace

Exact ComputeGaussianDelta(const Exact& epsilon, const Exact& mu) {
  const Exact near = (epsilon - mu * mu / 2) / mu;
  if (near > 1e6) return 0;
  if (mu > 1e-3) return Beyond(near) - Density(near) * Mills(near + mu);
  // Mills(near) - Mills(near + mu) by Taylor's series: R' = x R - 1, R'' = x R' + R, and so on.
  Exact before = Mills(near), here = near * before - 1, power = mu, sum = 0;
  for (int k = 1; k <= 12; ++k) {
    sum -= here * power;
    const Exact next = near * here + k * before;
    before = here;
    here = next;
    power *= mu / (k + 1);
  }
  return Density(near) * sum;
}

Exact ComputeResponseDelta(double epsilon0, std::int64_t choices, std::int64_t count, const Exact& epsilon) {
  const Exact one = epsilon0, all = exp(one) + (choices - 1);
  const Exact down = exp(-one), stay = (choices - 2) * down;
  const Exact start = count * log(exp(one) / all);
  Exact before = 0, here = 1, delta = 0;
  for (std::int64_t passed = 0; passed < 2 * count; ++passed) {
    const Exact sum = Exact(count - passed) * one;
    if (sum <= epsilon) break;
    if (here > 0) delta -= exp(start + log(here)) * expm1(epsilon - sum);
    const Exact next = (stay * (count - passed) * here + down * (2 * count - passed + 1) * before) / (passed + 1);
    before = here;
    here = next;
  }
  return delta;
}

Exact ComputeSubsampledDelta(double q, double z, const Exact& epsilon) {
  const Exact rate = q, mu = 1 / Exact(z);
  const Exact removed = rate * ComputeGaussianDelta(log1p(expm1(epsilon) / rate), mu);
  const Exact kept = rate - (1 - rate) * expm1(epsilon);
  if (kept <= 0) return removed;
  return std::max(removed, Exact(kept * ComputeGaussianDelta(epsilon + log(rate / kept), mu)));
}

Exact ReplacedDeltaFloor(double q, double z, const Exact& epsilon) {
  const Exact rate = q, noise = z;
  Exact best = 0;
  // P = (1-q) N(0) + q N(1), Q = (1-q) N(0) + q N(-1), and the event that the outcome is above t.
  const Exact spread = std::max(1.0, z);
  for (int half = -4; half <= 80; ++half) {
    const Exact t = half * spread / 2;
    const Exact none = Beyond(t / noise), up = Beyond((t - 1) / noise), down = Beyond((t + 1) / noise);
    const Exact delta = (1 - rate) * none + rate * up - exp(epsilon) * ((1 - rate) * none + rate * down);
    best = std::max(best, delta);
  }
  return best;
}

Exact SubsampledLogMoment(double q, double z, double order) {
  const Exact rate = q, a = order, precision = 1 / (Exact(z) * z);
  Exact excess = 0;
  if (order == std::floor(order)) {
    Exact term = pow(1 - rate, a) * a * rate / (1 - rate);
    for (int k = 2; k <= static_cast<int>(order); ++k) {
      term *= rate / (1 - rate) * (a - k + 1) / k;
      excess += term * expm1(precision * k * (k - 1) / 2);
    }
    return log1p(excess);
  }
  // E [(1+y)^a - 1 - a y], whose digits above some 1e-30 of y^2 are enough.
  const double step = z * std::min(0.4, z / 5), most = std::max(order, 2.0) + 13 * z;
  for (int i = 0; i * step <= most + 13 * z; ++i) {
    const Exact x = Exact(step) * i - 13 * Exact(z), y = rate * expm1((2 * x - 1) * precision / 2);
    const Exact beyond = abs(y) < 1e-12 ? a * (a - 1) / 2 * y * y * (1 + (a - 2) / 3 * y) : pow(1 + y, a) - 1 - a * y;
    excess += beyond * Density(x / z) / z * step;
  }
  return log1p(excess);
}

LossAtoms ResponseAtoms(double epsilon0, std::int64_t choices) {
  const long double e = epsilon0, all = std::exp(e) + static_cast<long double>(choices - 1);
  return {{e, 0, -e}, {1 / all, static_cast<long double>(choices - 2) / all, std::exp(e) / all}};
}

LossAtoms LaplaceAtoms(double ratio) {
  const long double r = ratio;
  LossAtoms atoms{{r, -r}, {std::exp(-r) / 2, 0.5L}};
  constexpr int kPoints = 2000;  // by the midpoint rule
  for (int i = 0; i < kPoints; ++i) {
    const long double loss = r * (2 * (i + 0.5L) / kPoints - 1);
    atoms.loss.push_back(loss);
    atoms.mass.push_back(std::exp(-(loss + r) / 2) / 4 * 2 * r / kPoints);
  }
  return atoms;
}

namespace {

// log(1 - q + q e^u).
long double Mixed(long double q, long double u) { return u > 9000 ? u + std::log(q) : std::log1p(q * std::expm1(u)); }

// By the trapezoid rule over outcomes from -13 deviations to 13 beyond 3, with Q = (1-q) N(0, z^2) + q
// N(`against`, z^2) (N(0, z^2) where that is 0).
LossAtoms Outcomes(long double q, long double z, int against) {
  LossAtoms atoms;
  const long double step = z * std::min<long double>(0.25L, z / 5);
  for (long double x = -3 - 13 * z; x <= 3 + 13 * z; x += step) {
    const long double up = Mixed(q, (2 * x - 1) / (2 * z * z));
    const long double down = against == 0 ? 0 : Mixed(q, (-2 * x - 1) / (2 * z * z));
    atoms.loss.push_back(up - down);
    const long double density = std::exp(-x * x / (2 * z * z)) / std::sqrt(2 * std::numbers::pi_v<long double>);
    atoms.mass.push_back(density * std::exp(down) * step / z);
  }
  return atoms;
}

}  // namespace

LossAtoms SubsampledAtoms(double q, double z) { return Outcomes(q, z, 0); }

LossAtoms ReplacedAtoms(double q, double z) { return Outcomes(q, z, -1); }

long double NormalDeltaFloor(const LossAtoms& atoms, double count, long double epsilon) {
  // e^x - 1 - x.
  const auto beyond = [](long double x) {
    if (std::abs(x) > 1e-3L) return std::expm1(x) - x;
    return x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6))));
  };
  struct Law {
    long double mean = 0, variance = 0, third = 0;
  } p, q;
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    const long double loss = atoms.loss[i], under_q = atoms.mass[i], under_p = under_q * std::exp(loss);
    p.mean += under_p * beyond(-loss);
    q.mean -= under_q * beyond(loss);
  }
  for (std::size_t i = 0; i < atoms.loss.size(); ++i) {
    const long double loss = atoms.loss[i], under_q = atoms.mass[i], under_p = under_q * std::exp(loss);
    const long double from_p = loss - p.mean, from_q = loss - q.mean;
    p.variance += under_p * from_p * from_p;
    q.variance += under_q * from_q * from_q;
    p.third += under_p * std::abs(from_p * from_p * from_p);
    q.third += under_q * std::abs(from_q * from_q * from_q);
  }
  if (!(p.variance > 0) || !(q.variance > 0)) return 0;
  const auto above = [count](const Law& law, long double t, int side) {
    const long double n = count, deviation = std::sqrt(n * law.variance);
    const long double error = 0.4748L * law.third / (law.variance * deviation);
    return std::erfc((t - n * law.mean) / deviation / std::numbers::sqrt2_v<long double>) / 2 + side * error;
  };
  const long double deviation = std::sqrt(count * p.variance);
  long double best = 0;
  for (int i = 0; i <= 60; ++i) {
    const long double t = epsilon + deviation * i / 12;
    best = std::max(best, above(p, t, -1) - std::exp(epsilon) * above(q, t, 1));
  }
  return best;
}

}  // namespace retort::privacy
