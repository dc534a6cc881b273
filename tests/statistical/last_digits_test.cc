// The last digits of a noisy sum tell nothing of what was noised. Of floating-point noise they do: |y| < 1/4 and y no
// multiple of 2^-25 happens where the sum is 0, and never where it is 1, since y then comes of numbers above 1/2.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "tests/unit/worker/release/release_fixture.h"
#include "worker/noise/lattice_normal.h"
#include "worker/release/class_embedding.h"
#include "worker/release/dpsgd_step.h"

namespace retort::worker::release {
namespace {

bool Betrays(double y) {
  const double units = y * 0x1p25;
  return std::abs(y) < 0.25 && units != std::round(units);
}

std::int64_t Betrayals(const at::Tensor& released) {
  std::int64_t count = 0;
  for (const float y : std::span(released.const_data_ptr<float>(), static_cast<std::size_t>(released.numel())))
    count += Betrays(static_cast<double>(y)) ? 1 : 0;
  return count;
}

// Steps whose noise has deviation 1/2 in each coordinate, and whose norm bound lets an example add 1 to each.
DpSgdStep Make(std::int64_t coordinates) {
  DpSgdSettings settings;
  settings.norm_bound = std::sqrt(static_cast<double>(coordinates)) * 1.001;
  settings.noise_multiplier = 0.5 / settings.norm_bound;
  settings.sampling_rate = 1;
  settings.coordinates = coordinates;
  return DpSgdStep::Create(settings, noise::NoiseKey::FromOperatingSystem()).value();
}

// One step whose sum is 0 in every coordinate, or 1.
at::Tensor Step(DpSgdStep& mechanism, std::int64_t coordinates, bool present, std::int64_t step) {
  MemoryPort port;
  ChargeBook book(&port, 1, 1);
  ClippedSum sum = mechanism.NewSum();
  if (present) sum.Add(at::ones({1, coordinates}));
  return mechanism.Release(std::move(sum), step, book.Take(mechanism.Describe(1), 1).value()).value();
}

TEST(LastDigits, FloatingPointNoiseBetraysTheSum) {
  std::vector<double> draws(100'000);
  noise::FillLatticeNormal(noise::NoiseKey::FromOperatingSystem(), {0, noise::Purpose::dpsgd}, 0, 0x1p40, draws);
  std::int64_t of_zero = 0, of_one = 0;
  for (const double draw : draws) {
    const auto noise = static_cast<float>(0.5 * draw * 0x1p-40);
    of_zero += Betrays(static_cast<double>(0.0f + noise)) ? 1 : 0;
    of_one += Betrays(static_cast<double>(1.0f + noise)) ? 1 : 0;
  }
  EXPECT_GT(of_zero, 5'000);
  EXPECT_EQ(of_one, 0);
}

TEST(LastDigits, NoisySumsShowNothingOfTheirSumIn100MillionDraws) {
  constexpr std::int64_t kCoordinates = 2'500'000;
  DpSgdStep mechanism = Make(kCoordinates);
  std::int64_t of_zero = 0, of_one = 0;
  for (std::int64_t step = 0; step < 40; ++step)
    (step % 2 == 0 ? of_zero : of_one) += Betrayals(Step(mechanism, kCoordinates, step % 2 == 1, step));
  EXPECT_EQ(of_zero, 0);
  EXPECT_EQ(of_one, 0);
}

// Where the lattice is finer than 2^-25 the digits are there, beside either sum: of numbers in (-1/4, 1/4), which lie a
// little further out beside 1, a part that differs by less than 0.05. Floating-point noise gives 0 beside 1.
TEST(LastDigits, FinerDigitsAreAsFrequentBesideEitherSum) {
  constexpr std::int64_t kCoordinates = 16, kSteps = 50'000;
  DpSgdStep mechanism = Make(kCoordinates);
  ASSERT_LT(mechanism.Describe(1).granularity, 0x1p-25);
  std::int64_t seen[2] = {0, 0}, inside[2] = {0, 0};
  for (std::int64_t step = 0; step < 2 * kSteps; ++step) {
    const at::Tensor released = Step(mechanism, kCoordinates, step % 2 == 1, step);
    seen[step % 2] += Betrayals(released);
    inside[step % 2] += (released.abs() < 0.25).sum().item<std::int64_t>();
  }
  // How often |y| < 1/4 depends on the sum, as it may; what its digits are, given that, does not.
  const double zero = static_cast<double>(seen[0]) / static_cast<double>(inside[0]);
  const double one = static_cast<double>(seen[1]) / static_cast<double>(inside[1]);
  EXPECT_NEAR(zero, one, 0.05);
  EXPECT_GT(one, 0.3);
}

// Every number that leaves is a whole multiple of the event's granularity.
TEST(LastDigits, EverySumLeavesOnTheLatticeOfItsEvent) {
  DpSgdStep mechanism = Make(16);
  const double granularity = mechanism.Describe(1).granularity;
  ASSERT_GT(granularity, 0);
  for (std::int64_t step = 0; step < 20'000; ++step) {
    const at::Tensor steps = Step(mechanism, 16, step % 2 == 1, step).to(at::kDouble) / granularity;
    ASSERT_TRUE(steps.equal(steps.round())) << step;
  }
}

}  // namespace
}  // namespace retort::worker::release
