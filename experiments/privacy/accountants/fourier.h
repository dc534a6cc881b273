// Discrete Fourier transform of complex numbers with a proven bound on its rounding error.
#pragma once

#include <cstddef>
#include <vector>

namespace retort::privacy {

class FourierPlan {
 public:
  // size: a power of two, 2 or more.
  explicit FourierPlan(std::size_t size);

  // In place on `size` real and imaginary parts. Forward leaves coefficient k at the position whose bits are
  // those of k in reverse; Backward takes that order and does not divide by size.
  void Forward(std::vector<double>& real, std::vector<double>& imaginary) const;
  void Backward(std::vector<double>& real, std::vector<double>& imaginary) const;

  // Where the coefficient of the opposite frequency stands, in Forward's order.
  [[nodiscard]] static std::size_t Opposite(std::size_t position);

  // Of either transform in exact arithmetic and as computed: |difference|_2 <= RelativeError() |exact|_2.
  // Each of the log2(size) stages rounds an addition and a product with a rounded root of unity, which is
  // below 8 units in the last place of the stage's own norm [Higham 2002, section 24.1].
  [[nodiscard]] double RelativeError() const;

 private:
  static constexpr std::size_t kCached = std::size_t{1} << 12;
  void Split(double* re, double* im, std::size_t half) const;
  void Join(double* re, double* im, std::size_t half) const;
  void ForwardBlock(double* re, double* im, std::size_t size) const;
  void BackwardBlock(double* re, double* im, std::size_t size) const;
  std::size_t size_;
  std::size_t stages_;
  // For half = 1, 2, 4, ...: e^(-i pi j / half), j < half, one after the other.
  std::vector<double> cosines_, sines_;
};

}  // namespace retort::privacy
