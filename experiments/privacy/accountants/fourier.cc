#include "experiments/privacy/accountants/fourier.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "experiments/base/status.h"

namespace retort::privacy {

FourierPlan::FourierPlan(std::size_t size)
    : size_(size), stages_(static_cast<std::size_t>(std::countr_zero(size))), cosines_(size), sines_(size) {
  RETORT_CHECK(size >= 2 && std::has_single_bit(size));
  // An eighth of the circle is computed, the rest mirrored.
  const std::size_t widest = size / 2;
  for (std::size_t j = 0; j <= widest / 4; ++j) {
    const double angle = std::numbers::pi * static_cast<double>(j) / static_cast<double>(widest);
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const auto set = [this, widest](std::size_t at, double c, double s) {
      if (at >= widest) return;
      cosines_[widest + at] = c;
      sines_[widest + at] = -s;
    };
    set(j, cosine, sine);
    if (widest < 4) continue;
    set(widest / 2 - j, sine, cosine);
    set(widest / 2 + j, -sine, cosine);
    set(widest - j, -cosine, sine);
  }
  if (widest == 2) {
    cosines_[3] = 0;
    sines_[3] = -1;
  }
  // The roots of a stage with `half` of them start at index `half`.
  for (std::size_t half = widest / 2; half >= 1; half /= 2) {
    for (std::size_t j = 0; j < half; ++j) {
      cosines_[half + j] = cosines_[2 * half + 2 * j];
      sines_[half + j] = sines_[2 * half + 2 * j];
    }
  }
}

// One stage on a block of 2 * half values.
void FourierPlan::Split(double* re, double* im, std::size_t half) const {
  const double* cosine = cosines_.data() + half;
  const double* sine = sines_.data() + half;
  for (std::size_t j = 0; j < half; ++j) {
    const double difference_re = re[j] - re[j + half];
    const double difference_im = im[j] - im[j + half];
    re[j] += re[j + half];
    im[j] += im[j + half];
    re[j + half] = difference_re * cosine[j] - difference_im * sine[j];
    im[j + half] = difference_re * sine[j] + difference_im * cosine[j];
  }
}

void FourierPlan::Join(double* re, double* im, std::size_t half) const {
  const double* cosine = cosines_.data() + half;
  const double* sine = sines_.data() + half;
  for (std::size_t j = 0; j < half; ++j) {
    const double turned_re = re[j + half] * cosine[j] + im[j + half] * sine[j];
    const double turned_im = im[j + half] * cosine[j] - re[j + half] * sine[j];
    re[j + half] = re[j] - turned_re;
    im[j + half] = im[j] - turned_im;
    re[j] += turned_re;
    im[j] += turned_im;
  }
}

// Depth first, so that what fits a cache stays in it.
void FourierPlan::ForwardBlock(double* re, double* im, std::size_t size) const {
  if (size > kCached) {
    Split(re, im, size / 2);
    ForwardBlock(re, im, size / 2);
    ForwardBlock(re + size / 2, im + size / 2, size / 2);
    return;
  }
  for (std::size_t half = size / 2; half >= 1; half /= 2)
    for (std::size_t block = 0; block < size; block += 2 * half) Split(re + block, im + block, half);
}

void FourierPlan::BackwardBlock(double* re, double* im, std::size_t size) const {
  if (size > kCached) {
    BackwardBlock(re, im, size / 2);
    BackwardBlock(re + size / 2, im + size / 2, size / 2);
    Join(re, im, size / 2);
    return;
  }
  for (std::size_t half = 1; half < size; half *= 2)
    for (std::size_t block = 0; block < size; block += 2 * half) Join(re + block, im + block, half);
}

void FourierPlan::Forward(std::vector<double>& real, std::vector<double>& imaginary) const {
  RETORT_CHECK(real.size() == size_ && imaginary.size() == size_);
  ForwardBlock(real.data(), imaginary.data(), size_);
}

void FourierPlan::Backward(std::vector<double>& real, std::vector<double>& imaginary) const {
  RETORT_CHECK(real.size() == size_ && imaginary.size() == size_);
  BackwardBlock(real.data(), imaginary.data(), size_);
}

std::size_t FourierPlan::Opposite(std::size_t position) {
  if (position == 0) return 0;
  const std::size_t top = std::bit_floor(position);
  return 3 * top - 1 - position;
}

double FourierPlan::RelativeError() const {
  constexpr double kUnit = std::numeric_limits<double>::epsilon() / 2;
  return 1.001 * 8 * kUnit * static_cast<double>(stages_);
}

}  // namespace retort::privacy
