#include "experiments/privacy/accountants/fourier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace retort::privacy {
namespace {

// Numbers that repeat nowhere near the sizes used here.
double Scrambled(std::size_t i) { return std::sin(1.7 * static_cast<double>(i * i) + 0.3); }

std::size_t Reversed(std::size_t k, std::size_t size) {
  std::size_t reversed = 0;
  for (std::size_t bit = 1; bit < size; bit *= 2, k /= 2) reversed = 2 * reversed + k % 2;
  return reversed;
}

TEST(Fourier, ForwardIsTheSumOverRootsOfUnityWithinItsBound) {
  for (const std::size_t size : {2U, 4U, 8U, 256U}) {
    std::vector<double> re;
    std::vector<double> im;
    for (std::size_t i = 0; i < size; ++i) {
      re.push_back(Scrambled(i));
      im.push_back(Scrambled(i + 5000));
    }
    std::vector<std::complex<long double>> expected(size);
    long double norm = 0;
    for (std::size_t k = 0; k < size; ++k) {
      for (std::size_t j = 0; j < size; ++j) {
        const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % size) /
                                  static_cast<long double>(size);
        expected[k] += std::complex<long double>(re[j], im[j]) * std::polar(1.0L, angle);
      }
      norm += std::norm(expected[k]);
    }
    const FourierPlan plan(size);
    plan.Forward(re, im);
    long double error = 0;
    for (std::size_t k = 0; k < size; ++k) {
      const std::size_t at = Reversed(k, size);
      error += std::norm(expected[k] - std::complex<long double>(re[at], im[at]));
      EXPECT_EQ(FourierPlan::Opposite(at), Reversed((size - k) % size, size));
    }
    EXPECT_LE(std::sqrt(error), plan.RelativeError() * std::sqrt(norm)) << size;
  }
}

TEST(Fourier, BackwardUndoesForward) {
  const std::size_t size = 1 << 15;
  std::vector<double> re(size);
  std::vector<double> im(size);
  for (std::size_t i = 0; i < size; ++i) re[i] = Scrambled(i);
  const FourierPlan plan(size);
  plan.Forward(re, im);
  plan.Backward(re, im);
  for (std::size_t i = 0; i < size; i += 97) {
    EXPECT_NEAR(re[i] / static_cast<double>(size), Scrambled(i), 1e-13);
    EXPECT_NEAR(im[i] / static_cast<double>(size), 0, 1e-13);
  }
}

}  // namespace
}  // namespace retort::privacy
