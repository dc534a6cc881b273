// Draws of the lattice Gaussian against the ideal value of their random bits, in arithmetic of 200 digits.
#include "worker/noise/lattice_normal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/math/constants/constants.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <vector>

#include "worker/noise/lattice_pair.h"
#include "worker/noise/noise_key.h"

namespace retort::worker::noise::lattice_normal_test {
namespace {

using Real = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<200>>;

Real Uniform(std::uint64_t first, const std::uint64_t* more) {
  Real value = ldexp(Real(first), -64);
  for (int i = 0; i < PairBits::kMore; ++i) value += ldexp(Real(more[i]), -64 * (i + 2));
  return value + ldexp(Real(1), -64 * (PairBits::kMore + 1) - 1);  // the middle of what is not known
}

// scale times the ideal Gaussian of these bits.
Real Ideal(const PairBits& bits, double scale, bool sine) {
  const Real turn = 2 * boost::math::constants::pi<Real>() * Uniform(bits.angle, bits.more_angle);
  return Real(scale) * sqrt(-2 * log(Uniform(bits.radius, bits.more_radius))) * (sine ? sin(turn) : cos(turn));
}

PairBits Random(ChaChaStream& stream) {
  PairBits bits;
  bits.radius = stream.NextU64();
  bits.angle = stream.NextU64();
  for (int i = 0; i < PairBits::kMore; ++i) {
    bits.more_radius[i] = stream.NextU64();
    bits.more_angle[i] = stream.NextU64();
  }
  return bits;
}

// Both draws of the pair are the ideal values, rounded.
void ExpectExact(PairBits bits, double scale) {
  double first, second;
  LatticePair(
      bits, scale, [] {}, first, second);
  EXPECT_EQ(Real(first), round(Ideal(bits, scale, false))) << scale << " " << bits.radius << " " << bits.angle;
  EXPECT_EQ(Real(second), round(Ideal(bits, scale, true))) << scale << " " << bits.radius << " " << bits.angle;
}

TEST(LatticePair, DrawsAreTheIdealValuesRounded) {
  ChaChaStream stream(NoiseKey::FromSeed(21, TrialId(1)), {});
  for (const double scale : {0x1p-20, 0.3, 1.0, 777.25, 0x1p24, 0x1.8p30, 0x1p41}) {
    for (int i = 0; i < 100; ++i) ExpectExact(Random(stream), scale);
  }
}

TEST(LatticePair, TailsNearZeroAndOneAndQuarterTurnsAreExact) {
  ChaChaStream stream(NoiseKey::FromSeed(22, TrialId(1)), {});
  const std::uint64_t all = ~std::uint64_t{0};
  for (const std::uint64_t radius : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 47, std::uint64_t{1} << 48,
                                     all, all - 1, all - (std::uint64_t{1} << 47)}) {
    for (const std::uint64_t angle : {std::uint64_t{0}, std::uint64_t{1} << 61, std::uint64_t{1} << 62, all,
                                      (std::uint64_t{1} << 62) - 1, (std::uint64_t{3} << 62) + 1}) {
      for (const double scale : {1.0, 0x1p30, 0x1p41}) {
        PairBits bits = Random(stream);
        bits.radius = radius;
        bits.angle = angle;
        ExpectExact(bits, scale);
      }
    }
  }
}

// Two words of which little is left.
TEST(LatticePair, TheFarthestTailsAreExact) {
  ChaChaStream stream(NoiseKey::FromSeed(24, TrialId(1)), {});
  for (int zeros = 0; zeros < 64; ++zeros) {
    for (const bool near_one : {false, true}) {
      PairBits bits = Random(stream);
      const std::uint64_t second = (bits.more_radius[0] | (std::uint64_t{1} << 63)) >> zeros;
      bits.radius = near_one ? ~std::uint64_t{0} : 0;
      bits.more_radius[0] = near_one ? ~second : second;
      for (const double scale : {1.0, 0x1p30, 0x1p41}) EXPECT_NO_FATAL_FAILURE(ExpectExact(bits, scale));
    }
  }
}

// The radius that puts the first draw on an edge between two whole numbers, cut to a few words: the double cannot tell.
TEST(LatticePair, ValuesOnTheVeryEdgeAreDecidedByFurtherBits) {
  ChaChaStream stream(NoiseKey::FromSeed(23, TrialId(1)), {});
  int above = 0, below = 0;
  for (int i = 0; i < 200; ++i) {
    const double scale = std::ldexp(1.0, 5 + i % 36);
    PairBits bits = Random(stream);
    const Real cosine = cos(2 * boost::math::constants::pi<Real>() * Uniform(bits.angle, bits.more_angle));
    const Real edge = floor(abs(cosine) * Real(scale)) + Real(0.5);
    Real u = exp(-pow(edge / (Real(scale) * cosine), 2) / 2);
    std::array<std::uint64_t, 3> words{};
    for (std::uint64_t& word : words) {
      u = ldexp(u, 64);
      word = static_cast<std::uint64_t>(floor(u));
      u -= floor(u);
    }
    bits.radius = words[0];
    bits.more_radius[0] = words[1];
    bits.more_radius[1] = i % 3 == 0 ? words[2] : words[2] + (i % 3 == 1 ? 1 : -1);
    ExpectExact(bits, scale);
    (abs(Ideal(bits, scale, false)) > edge ? above : below)++;
  }
  EXPECT_GT(above, 20);
  EXPECT_GT(below, 20);
}

TEST(LatticePair, MinusLogIsWithinItsBound) {
  ChaChaStream stream(NoiseKey::FromSeed(11, TrialId(1)), {});
  Real worst = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double small = std::ldexp(static_cast<double>((stream.NextU64() >> 11) + 1), -53 - i % 60);
    const bool near_one = i % 2 == 0 && small < 0.5;
    const Real u = near_one ? 1 - Real(small) : Real(small);
    if (u >= 1) continue;
    const double found = MinusLog(static_cast<double>(u), static_cast<double>(Real(1) - u));
    worst = std::max(worst, Real(abs(Real(found) / -log(u) - 1)));
  }
  EXPECT_LT(worst, ldexp(Real(1), -50));
}

TEST(LatticePair, SineAndCosineAreWithinTheirBound) {
  ChaChaStream stream(NoiseKey::FromSeed(12, TrialId(1)), {});
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t turn = stream.NextU64();
    double sine, cosine;
    SineCosine(turn, sine, cosine);
    const long double angle = std::ldexp(static_cast<long double>(turn), -64) * 6.283185307179586476925286766559L;
    worst = std::max(worst, std::abs(sine - static_cast<double>(std::sin(angle))));
    worst = std::max(worst, std::abs(cosine - static_cast<double>(std::cos(angle))));
  }
  EXPECT_LT(worst, 0x1p-50);
}

TEST(LatticeNormal, DrawDependsOnItsIndexAndNotOnTheCall) {
  const NoiseKey key = NoiseKey::FromSeed(5, TrialId(5));
  std::vector<double> whole(5000), part(2001);
  FillLatticeNormal(key, {3, Purpose::gradient}, 0, 0x1p40, whole);
  FillLatticeNormal(key, {3, Purpose::gradient}, 1024, 0x1p40, part);
  for (std::size_t i = 0; i < part.size(); ++i) ASSERT_EQ(part[i], whole[1024 + i]) << i;
}

TEST(LatticeNormal, DrawsAreIntegersWithASeparateBitStream) {
  std::vector<double> draws(100'000);
  FillLatticeNormal(NoiseKey::FromSeed(6, TrialId(5)), {3, Purpose::dpsgd}, 0, 0x1p41, draws);
  for (const double draw : draws) ASSERT_EQ(draw, std::round(draw));
  EXPECT_NE(MakeNonce(MakeExtension({3, Purpose::dpsgd})), MakeNonce({3, Purpose::dpsgd}));
}

TEST(LatticeNormal, ScalesThatCannotBeDrawnExactlyAreRefused) {
  EXPECT_TRUE(CheckLatticeScale(0x1p41).ok());
  for (const double scale : {0.0, -1.0, 0x1p-21, 0x1.1p41, std::nan(""), HUGE_VAL})
    EXPECT_EQ(CheckLatticeScale(scale).code(), StatusCode::usage) << scale;
}

}  // namespace
}  // namespace retort::worker::noise::lattice_normal_test
