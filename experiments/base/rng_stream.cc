#include "experiments/base/rng_stream.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "experiments/base/status.h"

namespace retort {
namespace {

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;
constexpr double kTwoToMinus53 = 0x1p-53;

constexpr std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

constexpr std::uint64_t Absorb(std::uint64_t key, std::uint64_t word) {
  return Mix(key + kGolden + Mix(word + kGolden));
}

// (0, 1], so that its logarithm is finite.
double OpenUniform(std::uint64_t word) { return (static_cast<double>(word >> 11) + 1.0) * kTwoToMinus53; }

}  // namespace

RngStream::RngStream(std::uint64_t seed, Purpose purpose, std::uint64_t step, std::uint64_t lane)
    : key_(Absorb(Absorb(Absorb(Absorb(kGolden, seed), static_cast<std::uint64_t>(purpose)), step), lane)) {}

std::uint64_t RngStream::Word(std::uint64_t index) const { return Mix(key_ + (index + 1) * kGolden); }

double RngStream::Uniform(std::uint64_t index) const { return static_cast<double>(Word(index) >> 11) * kTwoToMinus53; }

std::int64_t RngStream::Below(std::uint64_t index, std::int64_t bound) const {
  const std::uint64_t high = Word(index) >> 32;
  return static_cast<std::int64_t>((high * static_cast<std::uint64_t>(bound)) >> 32);
}

RngStream RngStream::Lane(std::uint64_t lane) const { return RngStream(Absorb(key_, lane)); }

std::vector<std::int64_t> DrawPermutation(std::int64_t n, const RngStream& stream) {
  RETORT_CHECK(n >= 0 && n < (std::int64_t{1} << 32));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t i = n - 1; i > 0; --i) {
    const std::int64_t j = stream.Below(static_cast<std::uint64_t>(i), i + 1);
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(j)]);
  }
  return order;
}

std::pair<double, double> DrawNormalPair(std::uint64_t index, const RngStream& stream) {
  const double radius = std::sqrt(-2.0 * std::log(OpenUniform(stream.Word(index))));
  const double angle = 2.0 * std::numbers::pi * stream.Uniform(index + 1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}  // namespace retort
