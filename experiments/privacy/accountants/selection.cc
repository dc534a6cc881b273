#include "experiments/privacy/accountants/selection.h"

#include <boost/math/tools/toms748_solve.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/rdp_accountant.h"
#include "experiments/privacy/accountants/reasons.h"

namespace retort::privacy {
namespace {

constexpr double kRoundedUp = 1 + 1e-12;
// Part of delta that is kept for what a K with an end, and noise with an end, give away.
constexpr double kKeptForEnds = 1e-6;

SelectionEpsilon WithoutBound(std::string_view why) { return {kInfinity, "", std::string(why)}; }

// `found`, where (1 + e^epsilon) times the distance of what is drawn from its law fits into what was kept of delta.
SelectionEpsilon UnlessEndsShow(SelectionEpsilon found, const DrawLaw& law, const SelectionPool& pool, double delta) {
  if (!std::isfinite(found.epsilon)) return found;
  const double room = delta * kKeptForEnds;
  const auto fits = [&](double log_distance) { return log_distance + found.epsilon + 0.7 < std::log(room); };
  if (!fits(ComputeLogTail(law))) return WithoutBound(reason::kDrawsEnd);
  if (pool.missing() > 0 && !fits(std::log(law.mean * pool.missing()))) return WithoutBound(reason::kNoiseEnds);
  return found;
}

// Theorem 2's part that one order adds to all others, without its factor 1 + eta.
double SecondPart(const DrawLaw& law, const SelectionPool& pool, double order) {
  const double share = 1 / order;
  return ((1 - share) * pool.ComputeRdp(order) - share * std::log(law.gamma)) * kRoundedUp;
}

struct SecondOrder {
  double order = 1;
  double part = 0;
};

// The least of it over orders, order 1 among them: what is divided by the order is convex, so that there is one valley.
SecondOrder FindSecondOrder(const DrawLaw& law, const SelectionPool& pool) {
  constexpr double kGolden = 0.6180339887498949;
  // Whole orders cost a fraction of the others.
  const auto order = [](double t) { return t > 3 ? 1 + std::round(std::exp(t)) : 1 + std::exp(t); };
  const auto at = [&](double t) { return SecondPart(law, pool, order(t)); };
  double low = std::log(1e-3), high = std::log(1e6);
  double left = high - kGolden * (high - low), right = low + kGolden * (high - low);
  double at_left = at(left), at_right = at(right);
  SecondOrder best{1, -std::log(law.gamma) * kRoundedUp};
  for (int round = 0; round < 40; ++round) {
    if (at_left < best.part) best = {order(left), at_left};
    if (at_right < best.part) best = {order(right), at_right};
    if (at_left < at_right || std::isinf(at_right)) {
      high = std::exchange(right, left);
      at_right = at_left;
      at_left = at(left = high - kGolden * (high - low));
    } else {
      low = std::exchange(left, right);
      at_left = at_right;
      at_right = at(right = low + kGolden * (high - low));
    }
  }
  return best;
}

// Theorem 2, `second` already found.
double ComputeTruncatedRdp(const DrawLaw& law, const SelectionPool& pool, double order, const SecondOrder& second) {
  return (pool.ComputeRdp(order) + (1 + law.eta) * second.part + std::log(law.mean) / (order - 1)) * kRoundedUp;
}

// Theorem 6 at the largest epsilon that its condition allows. K = 0 adds e^-mean to the moment, which keeps the bound
// above 0 for means below 1.
double ComputePoissonRdp(const DrawLaw& law, const SelectionPool& pool, double order) {
  const double more = order - 1;
  const double grown = pool.ComputeRdp(order) + law.mean * pool.ComputeDelta(std::log1p(1 / more) * (1 - 1e-15));
  if (!std::isfinite(grown)) return kInfinity;
  const double log_mean = std::log(law.mean);
  const double rdp = grown + (log_mean + std::log1p(std::exp(-law.mean - log_mean - more * grown))) / more;
  return std::max(0.0, rdp + 1e-14 * (grown + std::abs(log_mean) / more));
}

// A part of what the best of K adds to each difference P - e^epsilon Q, and by how much it moves epsilon.
struct Slope {
  double weight = 0;
  double shift = 0;
};

// One epsilon of a candidate, and its delta, in the terms of the law.
struct Line {
  double epsilon = 0, grown = 0, lost = 0;  // of Poisson mean * delta; else 1 + (1/gamma - 1) delta
};

// From where on the candidates' delta is too small to matter, by halving.
double FindUsefulEpsilon(const SelectionPool& pool, double enough) {
  double epsilon = 600;
  const double floor = std::max(enough, pool.ComputeDelta(epsilon) * (1 + 1e-9));
  while (epsilon > 1e-12 && pool.ComputeDelta(epsilon / 2) <= floor) epsilon /= 2;
  return epsilon;
}

std::vector<double> ChooseEpsilons(const DrawLaw& law, const SelectionPool& pool, double target) {
  constexpr int kCount = 64;
  const bool poisson = law.family == DrawFamily::poisson;
  const double enough = 1e-3 * std::min(target / law.mean, poisson ? 1.0 : law.gamma);
  const double last = FindUsefulEpsilon(pool, enough);
  std::vector<double> epsilons = {0};
  for (int i = 0; i < kCount; ++i) epsilons.push_back(last * std::pow(1e-4, i / (kCount - 1.0)));
  std::vector<double> corners = pool.FindCorners();
  std::sort(corners.begin(), corners.end());
  for (std::size_t i = 0; i < corners.size(); i += 1 + corners.size() / kCount)
    if (corners[i] < 600) epsilons.push_back(corners[i]);
  if (!corners.empty() && corners.back() < 600) epsilons.push_back(corners.back());
  return epsilons;
}

std::vector<Line> MakeLines(const DrawLaw& law, const SelectionPool& pool, double target) {
  std::vector<Line> lines;
  if (law.family == DrawFamily::poisson) {
    for (const double epsilon : ChooseEpsilons(law, pool, target))
      lines.push_back({epsilon, std::expm1(epsilon), law.mean * pool.ComputeDelta(epsilon)});
    return lines;
  }
  const double odds = (1 - law.gamma) / law.gamma * kRoundedUp;
  std::vector<double> epsilons = ChooseEpsilons(law, pool, target);
  epsilons.push_back(std::log1p(odds * pool.ComputeDelta(0)) + 1e-9);
  for (const double epsilon : epsilons) {
    const Line line{epsilon, std::exp(epsilon), 1 + odds * pool.ComputeDelta(epsilon)};
    if (line.lost <= line.grown) lines.push_back(line);
  }
  return lines;
}

// Places between `least` and 1: even ones, and below these ever smaller ones.
std::vector<double> MakePlaces(double least) {
  constexpr int kEven = 64;
  std::vector<double> places;
  for (int i = kEven; i >= 1; --i) places.push_back(static_cast<double>(i) / kEven);
  double factor = 0.84;
  for (double place = factor / kEven; place > std::max(least, 1e-40); place *= factor) {
    places.push_back(place);
    if (place < 1e-5) factor = 1.0 / 16;
  }
  std::erase_if(places, [&](double place) { return place <= least; });
  places.push_back(least);
  std::reverse(places.begin(), places.end());
  return places;
}

// log(h / a) and log h' at a = e^log_place of the line that is highest there; PROOFS.md has h.
struct Height {
  double ratio = 0, slope = 0;
};

Height FindHighest(const DrawLaw& law, const std::vector<Line>& lines, double log_place) {
  if (law.family == DrawFamily::poisson) {
    const auto ratio = [&](const Line& line) { return line.grown * log_place - line.lost; };
    const Line* best = &lines.front();
    for (const Line& line : lines)
      if (ratio(line) > ratio(*best)) best = &line;
    return {ratio(*best), ratio(*best) + best->epsilon};
  }
  const double part = std::exp(log_place / (1 + law.eta)), rest = -std::expm1(log_place / (1 + law.eta));
  const auto loss = [&](const Line& line) { return rest * line.grown + part * line.lost; };
  const Line* best = &lines.front();
  for (const Line& line : lines)
    if (loss(line) < loss(*best)) best = &line;
  const double log_loss = std::log(loss(*best));
  return {-(1 + law.eta) * log_loss, best->epsilon - (2 + law.eta) * log_loss};
}

std::vector<Slope> MakeSlopes(const DrawLaw& law, const SelectionPool& pool, double target) {
  const bool poisson = law.family == DrawFamily::poisson;
  const std::vector<Line> lines = MakeLines(law, pool, target);
  const double log_least = poisson ? -law.mean : (1 + law.eta) * std::log(law.gamma);
  const std::vector<double> places = MakePlaces(std::exp(log_least));
  const double rounding = 1e-12 * (3 + (poisson ? law.mean : law.eta));
  std::vector<Slope> slopes = {{places.front(), FindHighest(law, lines, log_least).ratio - rounding}};
  for (std::size_t i = 0; i + 1 < places.size(); ++i) {
    const double log_place = i == 0 ? log_least : std::log(places[i]);
    slopes.push_back({places[i + 1] - places[i], FindHighest(law, lines, log_place).slope - rounding});
  }
  return slopes;
}

double SumSlopes(const DrawLaw& law, const SelectionPool& pool, const std::vector<Slope>& slopes, double epsilon) {
  double sum = 0;
  for (const Slope& slope : slopes)
    if (slope.weight > 0) sum += slope.weight * pool.ComputeDelta(epsilon + slope.shift);
  return sum * law.mean * (1 + 1e-9);
}

// The least epsilon, to 1e-9 relative and never below it, at which the falling `delta` is at most `target`; infinity
// where none up to 10^5 is.
double SolveForDelta(const std::function<double(double)>& delta, double target) {
  if (delta(0) <= target) return 0;
  double low = 0, high = 1e-3;
  while (!(delta(high) <= target)) {
    low = high;
    high *= 2;
    if (high > 1e5) return kInfinity;
  }
  const auto excess = [&](double epsilon) { return std::log(std::max(delta(epsilon), 1e-320)) - std::log(target); };
  const double at_low = excess(low), at_high = excess(high);
  if (at_low > 0 && at_high < 0) {
    boost::uintmax_t rounds = 60;
    const auto narrow = [](double a, double b) { return b - a <= 1e-9 * b; };
    high = boost::math::tools::toms748_solve(excess, low, high, at_low, at_high, narrow, rounds).second;
  }
  while (!(delta(high) <= target)) high *= 1 + 1e-9;
  return high;
}

bool IsProbability(double delta) { return delta > 0 && delta < 1; }

// What is left of delta for the laws as they are meant.
double ReduceDelta(double delta) { return delta * (1 - 2 * kKeptForEnds); }

}  // namespace

double ComputeSelectionRdp(const DrawLaw& law, const SelectionPool& pool, double order) {
  if (!(order > 1)) return kInfinity;
  if (law.family == DrawFamily::poisson) return ComputePoissonRdp(law, pool, order);
  return ComputeTruncatedRdp(law, pool, order, FindSecondOrder(law, pool));
}

double ComputeSelectionDelta(const DrawLaw& law, const SelectionPool& pool, double epsilon, double target) {
  if (!(epsilon >= 0)) return 1;
  return std::min(1.0, SumSlopes(law, pool, MakeSlopes(law, pool, target), epsilon));
}

SelectionEpsilon SelectByRdp(const DrawLaw& law, const SelectionPool& pool, double delta) {
  if (!IsProbability(delta)) return WithoutBound(reason::kBadDelta);
  const bool poisson = law.family == DrawFamily::poisson;
  const SecondOrder second = poisson ? SecondOrder{} : FindSecondOrder(law, pool);
  const RdpEpsilon best = ComputeEpsilonFromRdp(
      [&](double order) {
        return poisson ? ComputePoissonRdp(law, pool, order) : ComputeTruncatedRdp(law, pool, order, second);
      },
      ReduceDelta(delta));
  if (!std::isfinite(best.epsilon)) return WithoutBound(best.reason.empty() ? reason::kNoBound : best.reason);
  std::string how = "order " + FormatSixDigits(best.order);
  if (!poisson) how += ", second order " + FormatSixDigits(second.order);
  return UnlessEndsShow({best.epsilon, std::move(how), ""}, law, pool, delta);
}

SelectionEpsilon SelectByProfile(const DrawLaw& law, const SelectionPool& pool, double delta) {
  if (!IsProbability(delta)) return WithoutBound(reason::kBadDelta);
  const double target = ReduceDelta(delta);
  const std::vector<Slope> slopes = MakeSlopes(law, pool, target);
  const double epsilon = SolveForDelta([&](double at) { return SumSlopes(law, pool, slopes, at); }, target);
  if (!std::isfinite(epsilon)) {
    const bool floor = law.mean * pool.ComputeDelta(1e5) > target;
    return WithoutBound(floor ? reason::kCandidateDelta : reason::kNoBound);
  }
  return UnlessEndsShow({epsilon, "over " + std::to_string(slopes.size()) + " slopes", ""}, law, pool, delta);
}

double ComputeCandidateEpsilon(const SelectionPool& pool, double delta) {
  if (!IsProbability(delta)) return kInfinity;
  return SolveForDelta([&](double epsilon) { return pool.ComputeDelta(epsilon) + pool.missing(); }, delta);
}

double ComputeSelectionDistance(const SelectionTerm& term) {
  const double one = std::exp(ComputeLogTail(term.law)) + term.law.mean * term.pool.missing();
  return static_cast<double>(term.count) * one * (1 + 1e-9);
}

Bound ComputeSelectionBound(const DrawLaw& law, const SelectionPool& pool, double delta) {
  const SelectionEpsilon profile = SelectByProfile(law, pool, delta), rdp = SelectByRdp(law, pool, delta);
  const bool first = profile.epsilon <= rdp.epsilon;
  const SelectionEpsilon& best = first ? profile : rdp;
  const double rounded = RoundEpsilonUp(best.epsilon);
  if (!std::isfinite(rounded))
    return {kInfinity, "", best.reason.empty() ? std::string(reason::kNoBound) : best.reason};
  return {rounded, first ? "selection-profile" : "selection-rdp", DescribeDraws(law) + ", " + best.how};
}

}  // namespace retort::privacy
