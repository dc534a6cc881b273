// Released labels as they come out of the real mechanism: the law of the answers, the law of the Laplace noise, and
// what an attacker can tell from them at worst.
#include <gtest/gtest.h>

#include <ATen/ATen.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "tests/statistical/noise_checks.h"
#include "tests/unit/worker/release/release_fixture.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/release/label_response.h"

namespace retort::worker::release::label_test {
namespace {

constexpr std::int64_t kClasses = 6, kLabels = 100'000;
constexpr double kEpsilon = 1;

// Labels of 100,000 rows that are all `label`, released over `candidates` of the classes (bits), counted.
std::vector<std::int64_t> Answered(std::int64_t label, unsigned candidates, double epsilon0 = kEpsilon) {
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const auto mechanism = LabelResponse::Create({LabelNoise::response, epsilon0, kClasses, {kLabels}},
                                               noise::NoiseKey::FromOperatingSystem())
                             .value();
  at::Tensor sets = at::zeros({kLabels, kClasses}, at::kBool);
  for (std::int64_t c = 0; c < kClasses; ++c)
    if ((candidates >> c & 1U) != 0) sets.select(1, c).fill_(true);
  const PrivateLabels labels(at::full({kLabels}, label, at::kLong));
  const at::Tensor answers = mechanism
                                 ->Respond(labels, 0, at::arange(kLabels, at::kLong), sets, 0,
                                           book.Take(mechanism->Describe(0), kLabels).value())
                                 .value();
  const at::Tensor counts = at::bincount(answers, {}, kClasses);
  return {counts.const_data_ptr<std::int64_t>(), counts.const_data_ptr<std::int64_t>() + kClasses};
}

// Pearson's statistic of counts against probabilities; an outcome of probability 0 may not occur.
Alarm CheckLaw(const std::vector<std::int64_t>& counts, const std::vector<double>& law, double trials) {
  double statistic = 0, cells = 0;
  for (std::size_t c = 0; c < law.size(); ++c) {
    const double expected = law[c] * trials, seen = static_cast<double>(counts[c]);
    if (expected == 0 && seen > 0) return "outcome " + std::to_string(c) + " occurred";
    if (expected == 0) continue;
    statistic += std::pow(seen - expected, 2) / expected;
    ++cells;
  }
  const double bound = boost::math::quantile(boost::math::complement(boost::math::chi_squared(cells - 1), kFalseAlarm));
  return statistic < bound ? Alarm() : "chi-square is " + std::to_string(statistic);
}

std::vector<double> ComputeLaw(std::int64_t label, unsigned candidates, double epsilon0 = kEpsilon) {
  const double k = __builtin_popcount(candidates), kept = std::exp(epsilon0) / (std::exp(epsilon0) + k - 1);
  std::vector<double> law(kClasses, 0.0);
  for (std::int64_t c = 0; c < kClasses; ++c) {
    if ((candidates >> c & 1U) == 0) continue;
    const bool inside = (candidates >> label & 1U) != 0;
    law[static_cast<std::size_t>(c)] = !inside ? 1 / k : c == label ? kept : (1 - kept) / (k - 1);
  }
  return law;
}

TEST(LabelResponseLaw, IsRandomisedResponseOverTheCandidates) {
  for (const unsigned candidates : {0b111111U, 0b011010U, 0b000110U}) {
    for (std::int64_t label = 0; label < kClasses; ++label)
      EXPECT_EQ(CheckLaw(Answered(label, candidates), ComputeLaw(label, candidates), kLabels), "") << label;
  }
}

TEST(LabelResponseLaw, TellsATenthMoreEpsilonApart) {
  EXPECT_NE(CheckLaw(Answered(2, 0b111111U, 1.1 * kEpsilon), ComputeLaw(2, 0b111111U), kLabels), "");
}

TEST(ReleaseAudit, LabelGivesAwayItsEpsilonAndNoMore) {
  const auto one = Answered(1, 0b111111U), two = Answered(4, 0b111111U);
  const double bound = std::log(ClopperPearson(one[1], kLabels).low / ClopperPearson(two[1], kLabels).high);
  EXPECT_LE(bound, kEpsilon);
  EXPECT_GE(bound, 0.9 * kEpsilon) << "the audit has lost its power";
}

std::vector<std::int64_t> Laplace(double rate, std::int64_t draws) {
  const auto law = noise::LatticeLaplace::Create(rate).value();
  noise::ChaChaStream bits(noise::NoiseKey::FromOperatingSystem(), {0, noise::Purpose::labels});
  std::vector<std::int64_t> out(static_cast<std::size_t>(draws));
  law.Sample(bits, out);
  return out;
}

TEST(LatticeLaplaceLaw, EveryValueHasItsProbability) {
  constexpr std::int64_t kDraws = 400'000, kReach = 6;
  for (const double rate : {3.3, 1.0, 0.75, 0.4, 0.3}) {
    std::vector<std::int64_t> counts(2 * kReach + 2);
    for (const std::int64_t k : Laplace(rate, kDraws))
      ++counts[static_cast<std::size_t>(std::abs(k) <= kReach ? k + kReach : 2 * kReach + 1)];
    std::vector<double> law;
    double rest = 1;
    for (std::int64_t k = -kReach; k <= kReach; ++k) {
      law.push_back(noise::ComputeLatticeLaplaceProbability(rate, k));
      rest -= law.back();
    }
    law.push_back(rest);
    // Cells that are hardly ever met join the last.
    for (std::size_t c = 0; c + 1 < law.size(); ++c) {
      if (law[c] * kDraws >= 10) continue;
      law.back() += law[c];
      counts.back() += counts[c];
      law[c] = 0;
      counts[c] = 0;
    }
    if (law.back() * kDraws < 10) continue;
    EXPECT_EQ(CheckLaw(counts, law, kDraws), "") << rate;
  }
}

// At large scales the law is Laplace's: |X| / t is exponential. Quantiles against binomial bounds.
TEST(LatticeLaplaceLaw, IsLaplaceAtLargeScales) {
  constexpr std::int64_t kDraws = 200'000;
  const double scale = 0x1p31;
  const auto draws = Laplace(1 / scale, kDraws);
  std::int64_t positive = 0;
  for (const std::int64_t k : draws) positive += k > 0 ? 1 : 0;
  const Interval half = ClopperPearson(positive, kDraws);
  EXPECT_TRUE(half.low < 0.5 && 0.5 < half.high);
  for (const double x : {0.01, 0.3, 1.0, 3.0, 7.0}) {
    std::int64_t below = 0;
    for (const std::int64_t k : draws) below += std::abs(static_cast<double>(k)) < x * scale ? 1 : 0;
    const Interval at = ClopperPearson(below, kDraws);
    EXPECT_TRUE(at.low < 1 - std::exp(-x) && 1 - std::exp(-x) < at.high) << x;
  }
}

// The noisy one-hot vectors of ALIBI: variance 2 b^2 in each class with b = 2 / epsilon, no correlation, mean one-hot;
// and the best test between two labels, the difference of two likelihoods, tells epsilon at most.
TEST(LabelLaplace, NoiseHasTheScaleOfItsEvent) {
  constexpr std::int64_t kRows = 50'000, kLabel = 2;
  MemoryPort port;
  ChargeBook book(&port, 1, INT64_MAX);
  const auto mechanism =
      LabelResponse::Create({LabelNoise::laplace, kEpsilon, kClasses, {kRows}}, noise::NoiseKey::FromOperatingSystem())
          .value();
  const PrivateLabels labels(at::full({kRows}, kLabel, at::kLong));
  at::Tensor noisy =
      mechanism
          ->AddLaplace(labels, 0, at::arange(kRows, at::kLong), 0, book.Take(mechanism->Describe(0), kRows).value())
          .value()
          .to(at::kDouble);
  noisy.select(1, kLabel).sub_(1);
  const double b = 2 / kEpsilon;
  // |X| is exponential of mean b and variance b^2: five standard errors.
  const at::Tensor mean = noisy.abs().mean(0), centre = noisy.mean(0);
  EXPECT_LT((mean - b).abs().max().item<double>(), 5 * b / std::sqrt(kRows));
  EXPECT_LT(centre.abs().max().item<double>(), 5 * std::sqrt(2.0) * b / std::sqrt(kRows));
  const at::Tensor correlation = at::corrcoef(noisy.t()) - at::eye(kClasses, at::kDouble);
  EXPECT_LT(correlation.abs().max().item<double>(), 5 / std::sqrt(static_cast<double>(kRows)));
}

// Rows of 200,000 that a test of two labels takes for the first, under either.
std::vector<std::int64_t> TakenForTheFirst(double epsilon0, const std::function<at::Tensor(const at::Tensor&)>& test) {
  constexpr std::int64_t kRows = 200'000;
  std::vector<std::int64_t> hits;
  for (const std::int64_t label : {0, 1}) {
    MemoryPort port;
    ChargeBook book(&port, 1, INT64_MAX);
    const auto mechanism = LabelResponse::Create({LabelNoise::laplace, epsilon0, kClasses, {kRows}},
                                                 noise::NoiseKey::FromOperatingSystem())
                               .value();
    const at::Tensor noisy =
        mechanism
            ->AddLaplace(PrivateLabels(at::full({kRows}, label, at::kLong)), 0, at::arange(kRows, at::kLong), 0,
                         book.Take(mechanism->Describe(0), kRows).value())
            .value();
    hits.push_back(test(noisy).sum().item<std::int64_t>());
  }
  return hits;
}

TEST(ReleaseAudit, LaplaceNoiseOnLabelsGivesAwayItsEpsilonAndNoMore) {
  constexpr std::int64_t kRows = 200'000;
  for (const double epsilon0 : {1e-3, 0.3, 1.0, 3.0, 6.0}) {
    // The likelihoods of label 0 and 1 differ most where the first is 1 or more and the second 0 or less.
    const auto hits = TakenForTheFirst(
        epsilon0, [](const at::Tensor& noisy) { return (noisy.select(1, 0) >= 1) & (noisy.select(1, 1) <= 0); });
    for (const std::size_t first : {0, 1}) {
      const Interval more = ClopperPearson(hits[first], kRows), less = ClopperPearson(hits[1 - first], kRows);
      EXPECT_LE(std::log(more.low / less.high), epsilon0) << epsilon0;
    }
    if (epsilon0 != 1) continue;
    const double bound = std::log(ClopperPearson(hits[0], kRows).low / ClopperPearson(hits[1], kRows).high);
    EXPECT_GE(bound, 0.85 * epsilon0) << "the audit has lost its power";
  }
}

}  // namespace
}  // namespace retort::worker::release::label_test
