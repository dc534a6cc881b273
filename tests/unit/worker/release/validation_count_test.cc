// The private score: what is counted, what noise it has, and that it is drawn once and paid for.
#include "worker/release/validation_count.h"

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "experiments/privacy/planned_events.h"
#include "tests/unit/worker/release/release_fixture.h"

namespace retort::worker::release::validation_count_test {
namespace {

TrialSpec Spec(double noise) {
  TrialSpec spec;
  spec.score_noise = noise;
  return spec;
}

// `right` of `all` rows are classified right.
ValidationCount Count(std::int64_t right, std::int64_t all) {
  ValidationCount count;
  for (std::int64_t i = 0; i < all; ++i)
    count.Add(at::tensor({0.0f, 1.0f}).reshape({1, 2}), at::tensor({i < right ? 1 : 0}, at::kLong));
  return count;
}

std::int64_t Draw(ValidationCount count, double noise, noise::NoiseKey key = noise::NoiseKey::FromOperatingSystem()) {
  MemoryPort port;
  ChargeBook book(&port, 1, 1);
  ValidationScore mechanism = ValidationScore::Create(Spec(noise), std::move(key)).value();
  Charge charge = book.Take(mechanism.Describe(), 1).value();
  return mechanism.Release(std::move(count), std::move(charge)).value().item<std::int64_t>();
}

// So little noise that it rounds to none but once in many universes.
constexpr double kNone = 0x1p-6;

TEST(ValidationCount, CountsEachExampleOnce) {
  ValidationCount count;
  const float none = std::numeric_limits<float>::quiet_NaN();
  // right; wrong; equal logits, of which the first counts, twice; no number at the label; none anywhere
  const at::Tensor logits =
      at::tensor({0.0f, 2.0f, 3.0f, 2.0f, 1.0f, 1.0f, 1.0f, 1.0f, 1.0f, none, none, none}).reshape({6, 2});
  count.Add(logits, at::tensor({1, 1, 0, 1, 1, 0}, at::kLong));
  count.Add(logits.narrow(0, 0, 1), at::tensor({1}, at::kLong));
  EXPECT_EQ(Draw(std::move(count), kNone), 3);
}

TEST(ValidationCount, OneExampleMovesItByOneAtMost) {
  for (const int other : {0, 1}) {
    ValidationCount count;
    count.Add(at::tensor({0.0f, 1.0f, 0.0f, 1.0f}).reshape({2, 2}), at::tensor({1, other}, at::kLong));
    EXPECT_EQ(Draw(std::move(count), kNone), 1 + other);
  }
  EXPECT_EQ(Draw(Count(1, 1), kNone), 1) << "without the second";
}

TEST(ValidationCount, EventIsTheOneThatIsPlanned) {
  const ValidationScore mechanism = ValidationScore::Create(Spec(7.5), noise::NoiseKey::FromOperatingSystem()).value();
  privacy::PrivacyEvent planned = privacy::PlanScore(Spec(7.5));
  planned.facts.clear();
  EXPECT_TRUE(planned.SameMechanism(mechanism.Describe()));
  EXPECT_EQ(planned.count, 1);
}

TEST(ValidationCount, IsDrawnOnceAndPaidFor) {
  MemoryPort port;
  ChargeBook book(&port, 1, 3);
  ValidationScore mechanism = ValidationScore::Create(Spec(2), noise::NoiseKey::FromOperatingSystem()).value();
  const ValidationScore quiet = ValidationScore::Create(Spec(3), noise::NoiseKey::FromOperatingSystem()).value();
  EXPECT_FALSE(mechanism.Release(Count(1, 1), book.Take(quiet.Describe(), 1).value()).ok()) << "another mechanism";
  EXPECT_FALSE(mechanism.Release(Count(1, 1), book.Take(mechanism.Describe(), 0).value()).ok()) << "no draw";
  EXPECT_TRUE(mechanism.Release(Count(1, 1), book.Take(mechanism.Describe(), 1).value()).ok());
  EXPECT_FALSE(mechanism.Release(Count(1, 1), book.Take(mechanism.Describe(), 1).value()).ok()) << "a second draw";
}

TEST(ValidationCount, NoiseOutsideTheSamplersRangeIsRefused) {
  for (const double noise : {0.0, -1.0, 1e-3, 1e7})
    EXPECT_FALSE(ValidationScore::Create(Spec(noise), noise::NoiseKey::FromOperatingSystem()).ok()) << noise;
}

TEST(ValidationCount, SeededNoiseIsSaidToBe) {
  const ValidationScore mechanism = ValidationScore::Create(Spec(2), noise::NoiseKey::FromSeed(1, TrialId(1))).value();
  EXPECT_EQ(mechanism.Describe().source, privacy::NoiseSource::seeded);
  const auto draw = [] { return Draw(Count(5, 9), 100, noise::NoiseKey::FromSeed(1, TrialId(1))); };
  EXPECT_EQ(draw(), draw());
}

// The share of draws of a count of `right` beyond right - 1/2 is what a test of "one more" has to tell.
double TellApart(const std::vector<std::int64_t>& one, const std::vector<std::int64_t>& other, std::int64_t threshold) {
  const auto above = [threshold](const std::vector<std::int64_t>& draws) {
    return static_cast<double>(std::count_if(draws.begin(), draws.end(), [&](auto x) { return x > threshold; })) /
           static_cast<double>(draws.size());
  };
  return above(one) - above(other);
}

// Total variation of two Gaussians that are a deviation / S apart, and what 4,000 draws of each may be off by.
double Allowed(double noise) { return std::erf(0.5 / noise / std::sqrt(2.0)) + 0.06; }

std::vector<std::int64_t> DrawMany(std::int64_t right, double noise) {
  std::vector<std::int64_t> draws;
  for (std::uint64_t i = 0; i < 4000; ++i)
    draws.push_back(
        Draw(Count(right, 4), noise, noise::NoiseKey::FromSeed(i, TrialId(static_cast<std::uint64_t>(right)))));
  return draws;
}

TEST(ValidationScoreMutants, NoiseThatIsNotDrawnIsCaught) {
  const double noise = 3;
  EXPECT_LT(TellApart(DrawMany(3, noise), DrawMany(2, noise), 2), Allowed(noise));
  EXPECT_GT(TellApart(std::vector<std::int64_t>(4000, 3), std::vector<std::int64_t>(4000, 2), 2), Allowed(noise));
}

TEST(ValidationScoreMutants, ACountThatOneExampleMovesByTwoIsCaught) {
  const double noise = 1;
  EXPECT_LT(TellApart(DrawMany(3, noise), DrawMany(2, noise), 2), Allowed(noise));
  EXPECT_GT(TellApart(DrawMany(3, noise), DrawMany(1, noise), 2), Allowed(noise));
}

}  // namespace
}  // namespace retort::worker::release::validation_count_test
