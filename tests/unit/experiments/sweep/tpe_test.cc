// The tree-structured Parzen estimator against random search, on functions whose best value is known.
#include "experiments/sweep/tpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "experiments/sweep/search_points.h"

namespace retort {
namespace {

using Function = std::function<double(const SearchPoint&)>;  // at most 0, its best value

double Real(const SearchPoint& point, std::size_t place) { return std::get<double>(point[place]); }

SearchDimension MakeRange(double low, double high, bool log = false) {
  SearchDimension dimension;
  dimension.key = FindKey("lr", kInTrial);
  dimension.low = low;
  dimension.high = high;
  dimension.log = log;
  return dimension;
}

SearchDimension MakeChoices(std::int64_t count) {
  SearchDimension dimension;
  dimension.key = FindKey("steps", kInTrial);
  for (std::int64_t i = 0; i < count; ++i) dimension.choices.emplace_back(i);
  return dimension;
}

SearchDimension MakeWhole(double low, double high) {
  SearchDimension dimension = MakeRange(low, high);
  dimension.key = FindKey("steps", kInTrial);
  dimension.integer = true;
  return dimension;
}

struct Problem {
  std::string name;
  std::vector<SearchDimension> space;
  Function value;
};

double Branin(const SearchPoint& point) {
  constexpr double kPi = std::numbers::pi;
  const double x = Real(point, 0), y = Real(point, 1);
  const double a = y - 5.1 / (4 * kPi * kPi) * x * x + 5 / kPi * x - 6;
  return 0.397887 - (a * a + 10 * (1 - 1 / (8 * kPi)) * std::cos(x) + 10);
}

// A learning rate on a logarithmic scale, a number of steps, and one of four networks.
double Tuning(const SearchPoint& point) {
  const double rate = std::log10(Real(point, 0)) + 1.5;
  const double steps = static_cast<double>(std::get<std::int64_t>(point[1])) / 100 - 2;
  constexpr double kNetworks[] = {-1, -0.4, 0, -0.7};
  return kNetworks[std::get<std::int64_t>(point[2])] - rate * rate - 0.2 * steps * steps;
}

double Sphere(const SearchPoint& point) {
  double sum = 0;
  for (std::size_t i = 0; i < point.size(); ++i) sum -= (Real(point, i) - 0.3) * (Real(point, i) - 0.3);
  return sum;
}

std::vector<Problem> ListProblems() {
  return {{"branin", {MakeRange(-5, 10), MakeRange(0, 15)}, Branin},
          {"tuning", {MakeRange(1e-4, 10, true), MakeWhole(10, 500), MakeChoices(4)}, Tuning},
          {"sphere in four dimensions", std::vector<SearchDimension>(4, MakeRange(-1, 1)), Sphere}};
}

// How far below the best value the best of 60 suggestions lies.
double FindRegret(const Problem& problem, SearchMethod method, std::uint64_t seed) {
  SearchSpec spec;
  spec.method = method;
  spec.trials = 60;
  spec.seed = seed;
  spec.space = problem.space;
  std::vector<SearchPoint> points;
  std::vector<SearchOutcome> outcomes;
  double best = -1e300;
  for (;;) {
    const std::vector<SearchPoint> next = SuggestPoints(spec, points, outcomes);
    if (next.empty()) break;
    for (const SearchPoint& point : next) {
      points.push_back(point);
      outcomes.push_back({true, problem.value(point)});
      best = std::max(best, *outcomes.back().score);
    }
  }
  EXPECT_EQ(points.size(), 60U);
  return -best;
}

double FindMedianRegret(const Problem& problem, SearchMethod method) {
  std::vector<double> regrets;
  for (std::uint64_t seed = 0; seed < 41; ++seed) regrets.push_back(FindRegret(problem, method, seed));
  std::nth_element(regrets.begin(), regrets.begin() + 20, regrets.end());
  return regrets[20];
}

TEST(Tpe, MedianRegretIsLessThanThatOfRandomSearch) {
  for (const Problem& problem : ListProblems()) {
    const double tpe = FindMedianRegret(problem, SearchMethod::tpe);
    const double random = FindMedianRegret(problem, SearchMethod::random);
    const double cube = FindMedianRegret(problem, SearchMethod::latin_hypercube);
    RecordProperty(problem.name, std::to_string(tpe) + " tpe, " + std::to_string(random) + " random, " +
                                     std::to_string(cube) + " latin hypercube");
    EXPECT_LT(tpe, 0.7 * random) << problem.name << ", latin hypercube " << cube;
  }
}

TEST(Tpe, WithoutScoresItDrawsAtRandom) {
  SearchSpec spec;
  spec.trials = 20;
  spec.space = {MakeRange(0.1, 10, true)};
  std::vector<TriedPoint> tried;
  for (std::size_t i = 0; i < 5; ++i) tried.push_back({{0.5}, std::nullopt});
  EXPECT_EQ(SuggestByTpe(spec, 5, tried, {}), DrawPoint(spec, 5, {}));
}

TEST(Tpe, PointsOfARoundDiffer) {
  SearchSpec spec;
  spec.trials = 40;
  spec.batch = 30;
  spec.space = {MakeWhole(1, 40)};
  std::vector<SearchPoint> points;
  std::vector<SearchOutcome> outcomes;
  for (std::int64_t i = 1; i <= 10; ++i) {
    points.push_back({i});
    outcomes.push_back({true, static_cast<double>(i)});
  }
  const std::vector<SearchPoint> round = SuggestPoints(spec, points, outcomes);
  std::set<SearchPoint> all(round.begin(), round.end());
  all.insert(points.begin(), points.end());
  EXPECT_EQ(all.size(), 40U);
}

TEST(Tpe, ScoresThatAreNoNumbersCountAsBad) {
  SearchSpec spec;
  spec.trials = 40;
  spec.space = {MakeRange(0, 1)};
  std::vector<TriedPoint> tried;
  for (int i = 0; i < 10; ++i) tried.push_back({{0.9}, std::nan("")});
  for (int i = 0; i < 10; ++i) tried.push_back({{0.1 + 0.01 * i}, 1.0 - i});
  int near = 0;
  for (std::size_t index = 20; index < 40; ++index)
    near += std::get<double>(SuggestByTpe(spec, index, tried, {}).front()) < 0.5 ? 1 : 0;
  EXPECT_GE(near, 18);
}

}  // namespace
}  // namespace retort
