#include "worker/noise/wide_fixed.h"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

#include "worker/noise/noise_key.h"

namespace retort::worker::noise {
namespace {

using boost::multiprecision::cpp_int;

constexpr int kWords = 5;
using Fixed = WideFixed<kWords>;

cpp_int ToInteger(const Fixed& value) {
  cpp_int result = 0;
  for (int i = kWords; i-- > 0;) result = (result << 32) | value.word[i];
  return result;
}

// Below 2^`bits` units of the last place.
Fixed Random(ChaChaStream& stream, int bits) {
  Fixed value{};
  for (int i = 0; i < kWords && 32 * i < bits; ++i) {
    value.word[i] = static_cast<std::uint32_t>(stream.NextU64());
    if (32 * (i + 1) > bits) value.word[i] >>= 32 * (i + 1) - bits;
  }
  return value;
}

TEST(WideFixed, ArithmeticIsThatOfWholeNumbersRoundedDown) {
  ChaChaStream stream(NoiseKey::FromSeed(1, TrialId(1)), {});
  for (int i = 0; i < 2000; ++i) {
    const Fixed a = Random(stream, 20 + i % 123), b = Random(stream, 1 + (i * 7) % 143);
    const cpp_int x = ToInteger(a), y = ToInteger(b);
    EXPECT_EQ(ToInteger(Add(a, b)), x + y);
    EXPECT_EQ(ToInteger(Multiply(a, b)), (x * y) >> Fixed::kFractionBits);
    EXPECT_EQ(ToInteger(ShiftRight(a, i % 32)), x >> (i % 32));
    EXPECT_EQ(ToInteger(DivideBy(a, 1 + static_cast<std::uint32_t>(i))), x / (1 + i));
    EXPECT_EQ(Less(a, b), x < y);
    if (!Less(a, b)) {
      EXPECT_EQ(ToInteger(Subtract(a, b)), x - y);
    }
    if (y == 0) continue;
    const cpp_int quotient = (x << Fixed::kFractionBits) / y;
    if (quotient < cpp_int(1) << (32 * kWords)) {
      EXPECT_EQ(ToInteger(Divide(a, b)), quotient);
    }
  }
}

TEST(WideFixed, DoublesAndPowersOfTwoAreExact) {
  for (const double value : {0.0, 1.0, 0.5, 27.8125, 0x1.fffffffffffffp4, 0x1p-60})
    EXPECT_EQ(ToInteger(FromDouble<kWords>(value)), cpp_int(value * 0x1p64) << (Fixed::kFractionBits - 64)) << value;
  for (const int power : {0, 1, 31, 32, 33, 128})
    EXPECT_EQ(ToInteger(PowerOfHalf<kWords>(power)), cpp_int(1) << (128 - power));
  EXPECT_TRUE(IsZero(Fixed{}));
  EXPECT_FALSE(IsZero(PowerOfHalf<kWords>(128)));
}

}  // namespace
}  // namespace retort::worker::noise
