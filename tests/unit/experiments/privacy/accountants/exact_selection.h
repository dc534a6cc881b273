// The best of K by enumeration: what both neighbours' selections are, outcome by outcome.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "experiments/privacy/accountants/selection_draws.h"

namespace retort::privacy {

using Probabilities = std::vector<long double>;  // from the lowest score to the highest
using Generating = std::function<long double(long double)>;

// E[x^K].
inline Generating MakeGenerating(const DrawLaw& law) {
  if (law.family == DrawFamily::poisson)
    return [mean = static_cast<long double>(law.mean)](long double x) { return std::exp(mean * (x - 1)); };
  const long double eta = law.eta, gamma = law.gamma;
  if (eta == 0) return [gamma](long double x) { return std::log1p(-(1 - gamma) * x) / std::log(gamma); };
  return [eta, gamma](long double x) {
    return std::expm1(-eta * std::log1p(-(1 - gamma) * x)) / std::expm1(-eta * std::log(gamma));
  };
}

// Always `count`.
inline Generating MakeConstant(int count) {
  return [count](long double x) { return std::pow(x, static_cast<long double>(count)); };
}

// Nothing first (K = 0), then each score as the best.
inline Probabilities SelectBest(const Probabilities& one, const Generating& generating) {
  long double below = 0, last = generating(0);
  Probabilities best = {last};
  for (const long double probability : one) {
    below = std::min(1.0L, below + probability);
    const long double next = generating(below);
    best.push_back(std::max(0.0L, next - last));
    last = next;
  }
  return best;
}

// `rounding` is what each of q may be off by.
inline long double ExactDelta(const Probabilities& p, const Probabilities& q, double epsilon,
                              long double rounding = 0) {
  long double delta = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    delta += std::max(0.0L, p[i] - std::exp(static_cast<long double>(epsilon)) * (q[i] + rounding));
  return delta;
}

inline long double ExactRdp(const Probabilities& p, const Probabilities& q, double order) {
  long double moment = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    if (p[i] > 0) moment += p[i] * std::pow(p[i] / q[i], static_cast<long double>(order) - 1);
  return std::log(moment) / (order - 1);
}

// N(0, 1) and N(mu, 1), cut into cells: a release of deviation 1 that is its own score.
struct NeighbourPair {
  Probabilities p, q;
};

inline NeighbourPair CutGaussians(double mu, int cells) {
  const auto below = [](long double x) { return std::erfc(-x / std::sqrt(2.0L)) / 2; };
  NeighbourPair pair;
  long double last_p = 0, last_q = 0;
  for (int i = 1; i <= cells; ++i) {
    const long double x = i == cells ? 1e4L : -9 + (18 + mu) * static_cast<long double>(i) / cells;
    const long double p = below(x), q = below(x - mu);
    pair.p.push_back(p - last_p);
    pair.q.push_back(q - last_q);
    last_p = p;
    last_q = q;
  }
  return pair;
}

inline NeighbourPair SwapNeighbours(NeighbourPair pair) {
  std::reverse(pair.p.begin(), pair.p.end());
  std::reverse(pair.q.begin(), pair.q.end());
  return pair;
}

// The largest delta of a selection among outcomes in this order, either neighbour first.
inline long double SelectedDelta(const NeighbourPair& pair, const Generating& generating, double epsilon) {
  const Probabilities p = SelectBest(pair.p, generating), q = SelectBest(pair.q, generating);
  // Differences of numbers near 1, as steep as the mean of K.
  constexpr long double kStep = 1e-6L;
  const long double mean = (generating(1) - generating(1 - kStep)) / kStep;
  const long double rounding = 8 * std::numeric_limits<long double>::epsilon() * (1 + mean);
  return std::max(ExactDelta(p, q, epsilon, rounding), ExactDelta(q, p, epsilon, rounding));
}

// Of a Gaussian candidate whose score is its release, or the reverse.
inline long double SelectedGaussianDelta(double mu, const Generating& generating, double epsilon) {
  const NeighbourPair pair = CutGaussians(mu, 2000);
  return std::max(SelectedDelta(pair, generating, epsilon), SelectedDelta(SwapNeighbours(pair), generating, epsilon));
}

}  // namespace retort::privacy
