#include "worker/noise/lattice_laplace.h"

#include <cmath>

namespace retort::worker::noise {
namespace {

constexpr double kSlack = 1 + 0x1p-20;
constexpr double kMostExponent = 48;  // exp(-48) < 2^-69: such digits are never 1

}  // namespace

Result<LatticeLaplace> LatticeLaplace::Create(double scale) {
  if (!(scale >= kMinScale && scale <= kMaxScale))
    return UsageError("Laplace noise on the lattice needs a scale between 0.0625 and 2^50.");
  LatticeLaplace laplace;
  laplace.scale_ = scale;
  double exponent = 1 / (scale * kSlack);
  for (; exponent < kMostExponent; exponent *= 2) {
    const double scaled = std::ldexp(1 / (1 + std::exp(exponent)), 64), whole = std::floor(scaled);
    laplace.thresholds_.push_back(
        {static_cast<std::uint64_t>(whole), static_cast<std::uint64_t>(std::ldexp(scaled - whole, 64))});
  }
  return laplace;
}

std::int64_t LatticeLaplace::Geometric(ChaChaStream& bits) const {
  std::int64_t value = 0;
  for (std::size_t digit = 0; digit < thresholds_.size(); ++digit) {
    const Threshold& threshold = thresholds_[digit];
    const std::uint64_t word = bits.NextU64();
    if (word < threshold.high || (word == threshold.high && bits.NextU64() < threshold.low))
      value |= std::int64_t{1} << digit;
  }
  return value;
}

void LatticeLaplace::Sample(ChaChaStream& bits, std::span<std::int64_t> out) const {
  for (std::int64_t& value : out) {
    const std::int64_t up = Geometric(bits);
    value = up - Geometric(bits);
  }
}

double LatticeLaplaceProbability(double scale, std::int64_t k) {
  const double q = std::exp(-1 / scale);
  return (1 - q) / (1 + q) * std::pow(q, std::abs(static_cast<double>(k)));
}

}  // namespace retort::worker::noise
