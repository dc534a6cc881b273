#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/math/special_functions/erf.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>
#include <vector>

#include "worker/noise/chacha_block.h"
#include "worker/noise/lattice_samplers.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise {
namespace {

using Real = boost::multiprecision::cpp_bin_float_100;

TEST(ChaChaBlock, MatchesRfc8439Section232) {
  std::array<std::uint32_t, 8> key;
  for (std::uint32_t i = 0; i < 8; ++i) key[i] = 0x03020100u + 0x04040404u * i;
  const std::array<std::uint32_t, 3> nonce = {0x09000000u, 0x4a000000u, 0x00000000u};
  std::array<std::uint32_t, 16> out;
  ChaChaBlock(key.data(), 1, nonce.data(), out.data());
  EXPECT_EQ(out[0], 0xe4e7f110u);
  EXPECT_EQ(out[1], 0x15593bd1u);
  EXPECT_EQ(out[15], 0x4e3c50a2u);
}

TEST(ChaChaStream, IsTheKeystreamOfTheBlockFunction) {
  const NoiseKey key = NoiseKey::FromOperatingSystem();
  const StreamId stream{7, Purpose::votes};
  std::array<std::uint32_t, 8> words;
  for (std::size_t i = 0; i < 8; ++i) {
    words[i] = 0;
    for (std::size_t b = 4; b-- > 0;) words[i] = (words[i] << 8) | key.bytes()[4 * i + b];
  }
  const std::array<std::uint32_t, 3> nonce = {7, 0, static_cast<std::uint32_t>(Purpose::votes)};
  ChaChaStream bits(key, stream);
  for (std::uint32_t block = 0; block < 130; ++block) {  // past one refill
    std::array<std::uint32_t, 16> expected;
    ChaChaBlock(words.data(), block, nonce.data(), expected.data());
    for (std::size_t i = 0; i < 8; ++i) {
      ASSERT_EQ(bits.NextU64(), expected[2 * i] | (std::uint64_t{expected[2 * i + 1]} << 32)) << "block " << block;
    }
  }
}

TEST(NoiseKey, StreamsOfDifferentStepPurposeOrKeyDiffer) {
  const NoiseKey key = NoiseKey::FromSeed(1, TrialId(2));
  const NoiseKey other_trial = NoiseKey::FromSeed(1, TrialId(3));
  const NoiseKey other_seed = NoiseKey::FromSeed(2, TrialId(2));
  const auto first = [](const NoiseKey& k, StreamId s) { return ChaChaStream(k, s).NextU64(); };
  const std::uint64_t base = first(key, {0, Purpose::gradient});
  EXPECT_EQ(base, first(NoiseKey::FromSeed(1, TrialId(2)), {0, Purpose::gradient}));
  EXPECT_NE(base, first(key, {1, Purpose::gradient}));
  EXPECT_NE(base, first(key, {0, Purpose::votes}));
  EXPECT_NE(base, first(other_trial, {0, Purpose::gradient}));
  EXPECT_NE(base, first(other_seed, {0, Purpose::gradient}));
}

TEST(NoiseKey, SystemKeysDifferAndMovedFromKeysAreZero) {
  NoiseKey first = NoiseKey::FromOperatingSystem();
  const NoiseKey second = NoiseKey::FromOperatingSystem();
  EXPECT_NE(std::memcmp(first.bytes().data(), second.bytes().data(), NoiseKey::kBytes), 0);
  const NoiseKey moved = std::move(first);
  EXPECT_THAT(first.bytes(), ::testing::Each(0));  // NOLINT(bugprone-use-after-move): the point of the test
  EXPECT_FALSE(moved.seeded());
  EXPECT_TRUE(NoiseKey::FromSeed(1, TrialId(1)).seeded());
}

Real Threshold(double scale, std::int64_t k) {
  return boost::math::erfc((Real(k) + Real(0.5)) / (Real(scale) * sqrt(Real(2))));
}

TEST(LatticeGaussian, TabulatedThresholdsLieWithinTheStatedError) {
  for (const double scale : {0x1p-6, 0.3, 1.0, 40.0, 1194.25}) {
    for (std::int64_t k = 0; k < 10 * static_cast<std::int64_t>(scale + 1); k += 1 + k / 37) {
      const Real exact = Threshold(scale, k);
      if (exact < ldexp(Real(1), -65)) break;
      const double table = std::erfc((static_cast<double>(k) + 0.5) / (scale * 1.4142135623730951));
      const Real error = abs(Real(table) / exact - 1);
      ASSERT_LT(error, Real(LatticeGaussian::kRelativeError) / 4) << "s = " << scale << ", k = " << k;
    }
  }
}

// v whose first 64 bits are those of E_k itself: the double table cannot decide, the exact path must.
TEST(LatticeGaussian, UndecidedPrefixesAreDecidedByTheExactThreshold) {
  int below = 0, above = 0;
  for (const double scale : {0.75, 3.0, 100.0}) {
    const LatticeGaussian lattice = LatticeGaussian::Create(scale).value();
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(3 * scale) + 1; ++k) {
      const Real scaled = ldexp(Threshold(scale, k), 64);
      const auto prefix = static_cast<std::uint64_t>(floor(scaled));
      const Real fraction = scaled - Real(prefix);
      const NoiseKey key = NoiseKey::FromSeed(static_cast<std::uint64_t>(k), TrialId(9));
      ChaChaStream bits(key, {}), same(key, {});
      const Real tail = ldexp(Real(same.NextU64()), -64);  // undecided beyond that once in 2^64
      const bool is_below = tail < fraction;
      EXPECT_EQ(lattice.Draw(prefix, false, bits), is_below ? k + 1 : k) << "s = " << scale << ", k = " << k;
      EXPECT_EQ(bits.NextU64(), same.NextU64());  // exactly one more word was drawn
      (is_below ? below : above) += 1;
    }
  }
  EXPECT_GT(below, 50);
  EXPECT_GT(above, 50);
}

TEST(LatticeGaussian, DecidedPrefixesAgreeWithTheExactThreshold) {
  const LatticeGaussian lattice = LatticeGaussian::Create(12.5).value();
  const NoiseKey key = NoiseKey::FromSeed(3, TrialId(3));
  ChaChaStream prefixes(key, {0, Purpose::votes}), bits(key, {1, Purpose::votes});
  std::vector<Real> thresholds;
  for (std::int64_t k = 0; k < 120; ++k) thresholds.push_back(ldexp(Threshold(12.5, k), 64));
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t prefix = prefixes.NextU64() >> (i % 40);  // into the tail as well
    std::int32_t k = 0;
    while (thresholds.at(static_cast<std::size_t>(k)) > Real(prefix)) ++k;
    EXPECT_EQ(lattice.Draw(prefix, true, bits), -k);
  }
}

TEST(LatticeGaussian, ZeroPrefixIsDrawnFromTheTailBeyondTheTable) {
  const LatticeGaussian lattice = LatticeGaussian::Create(1).value();
  ChaChaStream bits(NoiseKey::FromSeed(4, TrialId(4)), {});
  const std::int32_t draw = lattice.Draw(0, false, bits);
  EXPECT_GE(draw, 9);  // erfc(8.5 / sqrt 2) > 2^-64
  EXPECT_LE(draw, 15);
}

TEST(LatticeGaussian, ScaleOutsideItsRangeIsRefused) {
  EXPECT_EQ(LatticeGaussian::Create(0).status().code(), StatusCode::usage);
  EXPECT_EQ(LatticeGaussian::Create(1e7).status().code(), StatusCode::usage);
  EXPECT_EQ(LatticeGaussian::Create(std::nan("")).status().code(), StatusCode::usage);
}

TEST(LatticeGaussianProbability, SumsToOneAndHasTheVariancePlusATwelfth) {
  double sum = 0, variance = 0;
  for (std::int64_t k = -400; k <= 400; ++k) {
    const double p = ComputeLatticeGaussianProbability(25, k);
    sum += p;
    variance += p * static_cast<double>(k * k);
  }
  EXPECT_NEAR(sum, 1, 1e-13);
  EXPECT_NEAR(variance, 625 + 1.0 / 12, 1e-9);
}

}  // namespace
}  // namespace retort::worker::noise
