#include "worker/noise/lattice_laplace.h"

#include <algorithm>
#include <cmath>

namespace retort::worker::noise {

Result<LatticeLaplace> LatticeLaplace::Create(double rate) {
  if (!(rate >= kMinRate && rate <= kMaxRate))
    return UsageError("Laplace noise on the lattice needs a rate between 2^-50 and 16.");
  LatticeLaplace laplace;
  laplace.rate_ = rate;
  int exponent = 0;
  constexpr int kDigits = 53;
  laplace.numerator_ = static_cast<std::uint64_t>(std::ldexp(std::frexp(rate, &exponent), kDigits));
  laplace.width_ = kDigits - exponent;
  for (; laplace.numerator_ % 2 == 0 && laplace.width_ > 0; --laplace.width_) laplace.numerator_ /= 2;
  laplace.reach_ =
      static_cast<std::int64_t>(std::min(std::floor(static_cast<double>(kMostWhole) / rate), 0x1p62));
  return laplace;
}

void LatticeLaplace::Sample(ChaChaStream& bits, std::span<std::int64_t> out) const {
  for (std::int64_t& value : out) value = Draw(bits);
}

double LatticeLaplaceProbability(double rate, std::int64_t k) {
  return std::tanh(rate / 2) * std::exp(-rate * std::abs(static_cast<double>(k)));
}

}  // namespace retort::worker::noise
