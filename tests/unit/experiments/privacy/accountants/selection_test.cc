// Both bounds on the best of K beside selections that are enumerated, and wrong bounds that the same comparison sees.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "experiments/base/number_text.h"
#include "experiments/privacy/accountants/exact_gdp.h"
#include "experiments/privacy/accountants/reasons.h"
#include "experiments/privacy/accountants/selection.h"
#include "tests/unit/experiments/privacy/accountants/exact_selection.h"

namespace retort::privacy {
namespace {

using ::testing::HasSubstr;

SelectionBase GaussianBase(double mu) {
  SelectionBase base;
  base.mu = mu;
  return base;
}

SelectionBase PairBase(double epsilon, double delta) {
  SelectionBase base;
  base.epsilon = epsilon;
  base.delta = delta;
  return base;
}

std::vector<DrawLaw> Laws() {
  std::vector<DrawLaw> laws;
  for (const double mean : {0.2, 1.0, 10.0, 60.0}) laws.push_back(MakePoissonDraws(mean).value());
  for (const double eta : {-0.9, -0.5, 0.0, 0.5, 1.0, 4.0, 40.0})
    for (const double gamma : {0.9, 0.3, 0.02})
      if (ComputeMeanDraws(eta, gamma) < 500) laws.push_back(MakeNegativeBinomialDraws(eta, gamma).value());
  return laws;
}

// Claims of both theorems at delta.
std::vector<double> Claims(const DrawLaw& law, const std::vector<SelectionBase>& bases, double delta) {
  const SelectionPool pool(bases);
  std::vector<double> claims;
  for (const SelectionEpsilon& found : {SelectByProfile(law, pool, delta), SelectByRdp(law, pool, delta)})
    if (std::isfinite(found.epsilon)) claims.push_back(found.epsilon);
  return claims;
}

// The least claim, which the others may not undercut.
double LeastClaim(const DrawLaw& law, const std::vector<SelectionBase>& bases, double delta) {
  const std::vector<double> claims = Claims(law, bases, delta);
  EXPECT_FALSE(claims.empty());
  return claims.empty() ? kInfinity : *std::min_element(claims.begin(), claims.end());
}

// What is wrong with a claim by an enumeration; empty = nothing.
std::string CheckClaim(double epsilon, double delta, long double leaked) {
  if (leaked <= delta * (1 + 1e-9L)) return "";
  return "epsilon " + FormatShortNumber(epsilon) + " leaks " + FormatShortNumber(static_cast<double>(leaked)) +
         " at delta " + FormatShortNumber(delta);
}

// Two neighbours' outcomes, of which few tell much, in any order of scores.
NeighbourPair DrawNeighbours(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform;
  NeighbourPair pair;
  const int outcomes = 2 + static_cast<int>(random() % 5);
  const double loss = std::exp(-4 + 4.5 * uniform(random));
  for (int i = 0; i < outcomes; ++i) {
    pair.p.push_back(std::pow(uniform(random), 1 + random() % 6) + 1e-12);
    pair.q.push_back(pair.p.back() * std::exp((2 * uniform(random) - 1) * (random() % 3 == 0 ? loss : loss / 8)));
  }
  for (Probabilities* one : {&pair.p, &pair.q}) {
    long double sum = 0;
    for (const long double probability : *one) sum += probability;
    for (long double& probability : *one) probability /= sum;
  }
  return pair;
}

// All that is known of it: its Renyi divergence, and the largest loss.
SelectionBase MeasureNeighbours(const NeighbourPair& pair) {
  SelectionBase base;
  double largest = 0;
  for (std::size_t i = 0; i < pair.p.size(); ++i)
    largest = std::max(largest, static_cast<double>(std::abs(std::log(pair.p[i] / pair.q[i]))));
  base.epsilon = largest * (1 + 1e-12);
  base.rdp = [pair](double order) {
    const auto rdp = static_cast<double>(std::max(ExactRdp(pair.p, pair.q, order), ExactRdp(pair.q, pair.p, order)));
    return std::max(0.0, rdp * (1 + 1e-12) + 1e-15);
  };
  return base;
}

TEST(Selection, EnumeratedSelectionsStayBelowTheClaims) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 25; ++round) {
    const NeighbourPair pair = DrawNeighbours(random);
    const SelectionBase base = MeasureNeighbours(pair);
    for (const DrawLaw& law : Laws()) {
      const Generating generating = MakeGenerating(law);
      for (const double delta : {0.02, 1e-4})
        for (const double epsilon : Claims(law, {base}, delta))
          EXPECT_EQ(CheckClaim(epsilon, delta, SelectedDelta(pair, generating, epsilon)), "") << DescribeDraws(law);
    }
  }
}

TEST(Selection, EnumeratedRenyiDivergencesStayBelowTheTheorems) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 25; ++round) {
    const NeighbourPair pair = DrawNeighbours(random);
    const SelectionPool pool({MeasureNeighbours(pair)});
    for (const DrawLaw& law : Laws()) {
      const Probabilities p = SelectBest(pair.p, MakeGenerating(law)), q = SelectBest(pair.q, MakeGenerating(law));
      for (const double order : {1.2, 2.0, 6.0, 30.0})
        EXPECT_LE(std::max(ExactRdp(p, q, order), ExactRdp(q, p, order)),
                  ComputeSelectionRdp(law, pool, order) * (1 + 1e-9) + 1e-10)
            << DescribeDraws(law) << " order " << order;
    }
  }
}

TEST(Selection, GaussianSelectionsStayBelowTheClaims) {
  for (const double mu : {0.05, 0.3, 1.0, 3.0})
    for (const DrawLaw& law : Laws())
      for (const double delta : {1e-2, 1e-5})
        for (const double epsilon : Claims(law, {GaussianBase(mu)}, delta))
          EXPECT_EQ(CheckClaim(epsilon, delta, SelectedGaussianDelta(mu, MakeGenerating(law), epsilon)), "")
              << DescribeDraws(law) << " mu " << mu;
}

// What fails with probability delta tells everything, and a failure is the best score.
TEST(Selection, FailuresOfCandidatesAreCounted) {
  for (const DrawLaw& law : Laws()) {
    const double e = 0.4, d = 1e-6, delta = 1e-3;
    const long double keep = (1 - d) / (1 + std::exp(e));
    const NeighbourPair worst = {{0, keep, keep * std::exp(e), d}, {d, keep * std::exp(e), keep, 0}};
    for (const double epsilon : Claims(law, {PairBase(e, d)}, delta)) {
      EXPECT_EQ(CheckClaim(epsilon, delta, SelectedDelta(worst, MakeGenerating(law), epsilon)), "")
          << DescribeDraws(law);
      EXPECT_EQ(CheckClaim(epsilon, delta, SelectedDelta(SwapNeighbours(worst), MakeGenerating(law), epsilon)), "")
          << DescribeDraws(law);
    }
  }
}

TEST(Selection, PureCandidatesCostTwoPlusEtaTimesTheirEpsilon) {
  for (const double eta : {-0.5, 0.0, 1.0, 3.0}) {
    const DrawLaw law = MakeNegativeBinomialDraws(eta, 0.05).value();
    for (const double e : {0.01, 0.3, 2.0}) {
      const double claim = SelectByProfile(law, SelectionPool({PairBase(e, 0)}), 1e-12).epsilon;
      EXPECT_LE(claim, (2 + eta) * e * (1 + 1e-6)) << eta << " " << e;
      EXPECT_GE(claim, (1 + eta) * e * 0.3) << eta << " " << e;
    }
  }
}

TEST(Selection, DeltaOfCandidatesAboveTheClaimsHasNoBound) {
  const DrawLaw law = MakeNegativeBinomialDraws(1, 0.1).value();
  const SelectionPool pool({PairBase(1, 1e-5)});
  EXPECT_EQ(SelectByProfile(law, pool, 1e-5).reason, reason::kCandidateDelta);
  EXPECT_EQ(SelectByRdp(law, pool, 1e-5).epsilon, kInfinity);
  EXPECT_EQ(ComputeSelectionBound(law, pool, 1e-5).epsilon, kInfinity);
  EXPECT_LT(SelectByProfile(law, SelectionPool({PairBase(1, 1e-8)}), 1e-5).epsilon, 3.001);
}

TEST(Selection, DrawsWithoutPracticalEndHaveNoBound) {
  const DrawLaw law = MakeNegativeBinomialDraws(-0.9, 1e-9).value();
  const Bound bound = ComputeSelectionBound(law, SelectionPool({GaussianBase(0.1)}), 1e-5);
  EXPECT_EQ(bound.epsilon, kInfinity);
  EXPECT_EQ(bound.reason, reason::kDrawsEnd);
}

TEST(Selection, NoiseThatEndsWithinReachHasNoBound) {
  SelectionBase base = GaussianBase(0.1);
  base.missing = 1e-30;
  const DrawLaw law = MakePoissonDraws(10).value();
  EXPECT_LT(ComputeSelectionBound(law, SelectionPool({base}), 1e-5).epsilon, 1);
  base.missing = 1e-9;
  EXPECT_EQ(ComputeSelectionBound(law, SelectionPool({base}), 1e-5).reason, reason::kNoiseEnds);
}

TEST(Selection, ClaimsGrowWithDrawsAndCandidatesAndFallWithDelta) {
  constexpr double kGrid = 1.002;
  for (const double eta : {-0.5, 0.0, 1.0, 5.0, -1.0}) {
    double last_mean = 0;
    for (const double mean : {1.5, 2.0, 3.0, 8.0, 20.0, 50.0}) {
      const DrawLaw law = eta == -1 ? MakePoissonDraws(mean).value() : SolveNegativeBinomialDraws(eta, mean).value();
      double last_mu = 0;
      for (const double mu : {0.02, 0.021, 0.1, 0.4, 0.5, 2.0}) {
        const double claim = LeastClaim(law, {GaussianBase(mu)}, 1e-5);
        EXPECT_GE(claim * kGrid, last_mu) << mean << " " << mu;
        EXPECT_LE(LeastClaim(law, {GaussianBase(mu)}, 2e-5), claim * kGrid) << mean << " " << mu;
        last_mu = claim;
      }
      EXPECT_GE(last_mu * kGrid, last_mean) << mean;
      last_mean = last_mu;
    }
  }
}

TEST(Selection, SelectionCostsAtLeastWhatOneCandidateCosts) {
  for (const double eta : {-0.5, 0.0, 1.0})
    for (const double mu : {0.05, 0.5}) {
      const SelectionPool pool({GaussianBase(mu)});
      const double alone = ComputeCandidateEpsilon(pool, 1e-5);
      EXPECT_NEAR(alone, ComputeGaussianEpsilon(1e-5, mu), 1e-7);
      EXPECT_GE(LeastClaim(SolveNegativeBinomialDraws(eta, 8).value(), {GaussianBase(mu)}, 1e-5), alone);
    }
}

TEST(Selection, WorstOfManyCandidatesDecides) {
  const DrawLaw law = MakeNegativeBinomialDraws(1, 0.1).value();
  std::vector<SelectionBase> many;
  for (int i = 0; i < 999; ++i) many.push_back(GaussianBase(0.1 + 1e-4 * (i % 37)));
  many.push_back(GaussianBase(0.7));
  EXPECT_EQ(LeastClaim(law, many, 1e-5), LeastClaim(law, {GaussianBase(0.7)}, 1e-5));
  const double mixed = LeastClaim(law, {PairBase(0.05, 1e-9), GaussianBase(0.7), PairBase(0.5, 1e-12)}, 1e-5);
  EXPECT_GE(mixed * 1.001, LeastClaim(law, {GaussianBase(0.7)}, 1e-5));
}

TEST(Selection, ThousandDifferentCandidatesTakeMilliseconds) {
  std::vector<SelectionBase> many;
  for (int i = 0; i < 500; ++i) many.push_back(GaussianBase(0.1 + 1e-3 * i));
  for (int i = 0; i < 500; ++i) many.push_back(PairBase(0.3 + 1e-3 * i, 1e-8 / (1 + i)));
  const DrawLaw law = MakeNegativeBinomialDraws(1, 0.1).value();
  const std::clock_t began = std::clock();
  EXPECT_LT(ComputeSelectionBound(law, SelectionPool(many), 1e-5).epsilon, 10);
  const double seconds = static_cast<double>(std::clock() - began) / static_cast<double>(CLOCKS_PER_SEC);
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 0.1) << "aim: 0.01 on a quiet machine";
}

TEST(Selection, CurveOfUnlikeCandidatesLiesAboveEachOfThem) {
  const auto curve = [](double mu) {
    SelectionBase base = GaussianBase(kInfinity);
    base.rdp = [mu](double order) { return order * mu * mu / 2; };
    return base;
  };
  const SelectionPool pool({curve(0.2), curve(0.5), PairBase(0.3, 0)});
  for (double order = 1.05; order < 4000; order *= 1.07) {
    EXPECT_GE(pool.ComputeRdp(order), order * 0.125);
    EXPECT_LE(pool.ComputeRdp(order), std::max(order, 1.2) * 0.125 * 1.03 + 0.01);
  }
  for (const double epsilon : {0.0, 0.1, 0.7, 2.0}) {
    EXPECT_GE(pool.ComputeDelta(epsilon), std::exp(ComputeGaussianLogDelta(epsilon, 0.5)));
    EXPECT_GE(pool.ComputeDelta(-epsilon), -std::expm1(-epsilon));
  }
}

// Wrong on purpose: the comparison that is silent above sees each.

constexpr double kSelectionDelta = 1e-5;

TEST(SelectionMutants, NaiveBestOfKIsCaught) {
  const double single = ComputeGaussianEpsilon(kSelectionDelta, 0.27);
  EXPECT_EQ(CheckClaim(single, kSelectionDelta, SelectedGaussianDelta(0.27, MakeConstant(1), single) * (1 - 1e-4L)),
            "");
  EXPECT_THAT(CheckClaim(single, kSelectionDelta, SelectedGaussianDelta(0.27, MakeConstant(10), single)),
              HasSubstr("leaks"));
}

TEST(SelectionMutants, ConstantKInPlaceOfPoissonIsCaught) {
  const DrawLaw law = MakePoissonDraws(10).value();
  const double claim = LeastClaim(law, {GaussianBase(0.27)}, kSelectionDelta);
  EXPECT_EQ(CheckClaim(claim, kSelectionDelta, SelectedGaussianDelta(0.27, MakeGenerating(law), claim)), "");
  EXPECT_THAT(CheckClaim(claim, kSelectionDelta, SelectedGaussianDelta(0.27, MakeConstant(10), claim)),
              HasSubstr("leaks"));
}

TEST(SelectionMutants, EtaWithTheOtherSignIsCaught) {
  const DrawLaw drawn = MakeNegativeBinomialDraws(0.95, 1e-3).value();
  DrawLaw mutant = drawn;
  mutant.eta = -drawn.eta;
  mutant.mean = ComputeMeanDraws(mutant.eta, mutant.gamma);
  const double right = LeastClaim(drawn, {GaussianBase(0.27)}, kSelectionDelta);
  const double wrong = LeastClaim(mutant, {GaussianBase(0.27)}, kSelectionDelta);
  const auto leaked = [&](double epsilon) { return SelectedGaussianDelta(0.27, MakeGenerating(drawn), epsilon); };
  EXPECT_EQ(CheckClaim(right, kSelectionDelta, leaked(right)), "");
  EXPECT_THAT(CheckClaim(wrong, kSelectionDelta, leaked(wrong)), HasSubstr("leaks"));
}

// E[q^D] for the number D of different candidates among K draws from `count`: all that were drawn lie among those that
// come out badly, each of which does with probability q.
long double AllDrawnAreBad(const Generating& generating, int count, long double q) {
  long double sum = 0, ways = 1;
  for (int bad = 0; bad <= count; ++bad) {
    const auto of = static_cast<long double>(bad), rest = static_cast<long double>(count - bad);
    sum += ways * std::pow(q, of) * std::pow(1 - q, rest) * generating(of / count);
    ways = ways * rest / (of + 1);
  }
  return sum;
}

// Teachers of (epsilon, 0)-DP as candidates, good or bad; the best one that is drawn is shown.
TEST(SelectionMutants, TeachersThatAreTrainedOnceAreCaught) {
  const DrawLaw law = MakeNegativeBinomialDraws(1, 1e-5).value();
  const Generating generating = MakeGenerating(law);
  const double one = 0.5;
  const long double likely = 1 / (1 + std::exp(-one)), unlikely = 1 - likely;
  SelectionBase base;
  base.epsilon = one;
  const double claim = LeastClaim(law, {base}, 1e-9);
  EXPECT_LE(claim, 3 * one + 0.01);
  EXPECT_LE(std::log(generating(likely) / generating(unlikely)), claim) << "trained anew in every draw";
  const int count = 10;
  const long double shown = AllDrawnAreBad(generating, count, likely);
  const long double hardly = AllDrawnAreBad(generating, count, unlikely);
  EXPECT_GT(shown - std::exp(static_cast<long double>(claim)) * hardly, 1e-9L) << "trained once, and drawn again";
  EXPECT_GT(std::log(shown / hardly), 0.9 * count * one);
}

// One candidate of two leaks more, and scores best when it is drawn.
TEST(SelectionMutants, ClaimOfTheBestCandidateIsCaught) {
  const DrawLaw law = MakeNegativeBinomialDraws(1, 0.1).value();
  const NeighbourPair quiet = CutGaussians(0.05, 1000), loud = CutGaussians(1, 1000);
  NeighbourPair both;
  for (const NeighbourPair* one : {&quiet, &loud}) {
    for (const long double probability : one->p) both.p.push_back(probability / 2);
    for (const long double probability : one->q) both.q.push_back(probability / 2);
  }
  const auto leaked = [&](double epsilon) { return SelectedDelta(both, MakeGenerating(law), epsilon); };
  const double right = LeastClaim(law, {GaussianBase(0.05), GaussianBase(1)}, kSelectionDelta);
  const double wrong = LeastClaim(law, {GaussianBase(0.05)}, kSelectionDelta);
  EXPECT_EQ(CheckClaim(right, kSelectionDelta, leaked(right)), "");
  EXPECT_THAT(CheckClaim(wrong, kSelectionDelta, leaked(wrong)), HasSubstr("leaks"));
}

}  // namespace
}  // namespace retort::privacy
