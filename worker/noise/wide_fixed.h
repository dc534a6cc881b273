// Fixed-point numbers of many 32-bit words, for host and device code alike: whole-number arithmetic alone, so that
// every device gives the same words.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define RETORT_HOST_DEVICE __host__ __device__
#define RETORT_NOINLINE __noinline__ __host__ __device__
#else
#define RETORT_HOST_DEVICE
#define RETORT_NOINLINE __attribute__((noinline))
#endif

namespace retort::worker::noise {

// A number in [0, 2^32): the sum of word[i] 2^(32 (i - (Words - 1))). The last word is the whole part. Results are
// rounded down; what leaves the range is the caller's error.
template <int Words>
struct WideFixed {
  static constexpr int kFractionBits = 32 * (Words - 1);
  std::uint32_t word[Words];
};

template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> Whole(std::uint32_t value) {
  WideFixed<Words> result{};
  result.word[Words - 1] = value;
  return result;
}

// value >= 0 and below 2^32, exactly; its last bit must lie within the fraction.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> FromDouble(double value) {
  WideFixed<Words> result{};
  for (int i = Words - 1; i >= 0 && value > 0; --i) {
    const auto digit = static_cast<std::uint32_t>(value);
    result.word[i] = digit;
    value = (value - static_cast<double>(digit)) * 4294967296.0;
  }
  return result;
}

// 2^-power, power <= kFractionBits.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> PowerOfHalf(int power) {
  WideFixed<Words> result{};
  const int place = WideFixed<Words>::kFractionBits - power;
  result.word[place / 32] = std::uint32_t{1} << (place % 32);
  return result;
}

template <int Words>
RETORT_HOST_DEVICE bool IsZero(const WideFixed<Words>& a) {
  for (int i = 0; i < Words; ++i) {
    if (a.word[i] != 0) return false;
  }
  return true;
}

template <int Words>
RETORT_HOST_DEVICE bool Less(const WideFixed<Words>& a, const WideFixed<Words>& b) {
  for (int i = Words - 1; i >= 0; --i) {
    if (a.word[i] != b.word[i]) return a.word[i] < b.word[i];
  }
  return false;
}

template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> Add(const WideFixed<Words>& a, const WideFixed<Words>& b) {
  WideFixed<Words> sum;
  std::uint64_t carry = 0;
  for (int i = 0; i < Words; ++i) {
    carry += static_cast<std::uint64_t>(a.word[i]) + b.word[i];
    sum.word[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  return sum;
}

// a - b, a >= b.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> Subtract(const WideFixed<Words>& a, const WideFixed<Words>& b) {
  WideFixed<Words> difference;
  std::uint64_t borrow = 0;
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t taken = static_cast<std::uint64_t>(b.word[i]) + borrow;
    difference.word[i] = static_cast<std::uint32_t>(a.word[i] - taken);
    borrow = a.word[i] < taken ? 1 : 0;
  }
  return difference;
}

// a 2^-bits, 0 <= bits < 32.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> ShiftRight(const WideFixed<Words>& a, int bits) {
  WideFixed<Words> shifted;
  for (int i = 0; i < Words; ++i) {
    const std::uint64_t above = i + 1 < Words ? a.word[i + 1] : 0;
    shifted.word[i] = static_cast<std::uint32_t>(((above << 32) | a.word[i]) >> bits);
  }
  return shifted;
}

template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> Multiply(const WideFixed<Words>& a, const WideFixed<Words>& b) {
  std::uint32_t product[2 * Words] = {};
  for (int i = 0; i < Words; ++i) {
    std::uint64_t carry = 0;
    for (int j = 0; j < Words; ++j) {
      carry += static_cast<std::uint64_t>(a.word[i]) * b.word[j] + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product[i + Words] = static_cast<std::uint32_t>(carry);
  }
  WideFixed<Words> result;
  for (int i = 0; i < Words; ++i) result.word[i] = product[i + Words - 1];
  return result;
}

// a / divisor, divisor > 0.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> DivideBy(const WideFixed<Words>& a, std::uint32_t divisor) {
  WideFixed<Words> result;
  std::uint64_t rest = 0;
  for (int i = Words - 1; i >= 0; --i) {
    rest = (rest << 32) | a.word[i];
    result.word[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  return result;
}

// a / b, b > 0: bit by bit.
template <int Words>
RETORT_HOST_DEVICE WideFixed<Words> Divide(const WideFixed<Words>& a, const WideFixed<Words>& b) {
  WideFixed<Words> quotient{}, rest{};
  for (int bit = 32 * Words - 1; bit >= -WideFixed<Words>::kFractionBits; --bit) {
    const bool over = (rest.word[Words - 1] >> 31) != 0;  // the rest, doubled, has a bit more than fits
    std::uint32_t next = bit >= 0 ? (a.word[bit / 32] >> (bit % 32)) & 1u : 0u;
    for (int i = 0; i < Words; ++i) {
      const std::uint32_t top = rest.word[i] >> 31;
      rest.word[i] = (rest.word[i] << 1) | next;
      next = top;
    }
    const bool fits = over || !Less(rest, b);
    if (fits) rest = Subtract(rest, b);
    std::uint32_t digit = fits ? 1u : 0u;
    for (int i = 0; i < Words; ++i) {
      const std::uint32_t top = quotient.word[i] >> 31;
      quotient.word[i] = (quotient.word[i] << 1) | digit;
      digit = top;
    }
  }
  return quotient;
}

}  // namespace retort::worker::noise
